#include "runs/resume_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/task_facts.h"

namespace roformer {
namespace {

// The first row that matches counts.
constexpr std::array<ResumeRule, 12> kRules{{
    {"training.steps", AtResume::may_grow,
     "may change, but not below what the run has reached; with wsd only before the decay"},
    {"training.decay*", AtResume::before_decay, "may change before the decay has begun"},
    {"decoding.batch_tokens", AtResume::may_change, "may change"},
    {"decoding.alignment_layer", AtResume::may_change, "may change"},
    {"decoding.*", AtResume::unless_ranking,
     "may change, unless BLEU or chrF of the validations ranks the checkpoints"},
    {"run.json: data.folder", AtResume::may_change, "may change: data may be moved"},
    {"run.json: data.name", AtResume::may_change, "may change"},
    {"run.json: data.from_fingerprint", AtResume::until_checkpoint,
     "the weights of `model.from` must stay until the run has a checkpoint"},
    {"run.json: data.*", AtResume::must_stay, "must stay: fingerprints of data and tokenizers"},
    {"run.json: precision", AtResume::if_asked,
     "must stay, unless `--training.precision` asks for another"},
    {"run.json: processes", AtResume::if_divisible,
     "may change to a number that divides the rows of a step"},
    {"*", AtResume::by_schema,
     "must stay if it decides what is trained (model, data, batches, seed), else it may change"},
}};

}  // namespace

const ResumeRule& resume_rule_of(std::string_view subject) {
  return *std::ranges::find_if(kRules, [&](const ResumeRule& rule) {
    if (!rule.subject.ends_with('*')) return rule.subject == subject;
    return subject.starts_with(rule.subject.substr(0, rule.subject.size() - 1));
  });
}

std::string resume_rules_table() {
  std::string table = "| what | when a run is resumed |\n|---|---|\n";
  for (const ResumeRule& rule : kRules) {
    const bool all = rule.subject == "*";
    table += fmt::format("| {} | {} |\n",
                         all ? "every other key" : fmt::format("`{}`", rule.subject), rule.words);
  }
  return table;
}

bool may_change_when_resumed(const Key& key, const Settings& stored) {
  const TranslationRanking by = stored.translation.ranked_by;
  const bool ranks = resume_rule_of(key.name).rule == AtResume::unless_ranking &&
                     task_facts(stored.task).has_decoder &&
                     (by == TranslationRanking::bleu || by == TranslationRanking::chrf);
  return key.may_change() && !ranks;
}

}  // namespace roformer
