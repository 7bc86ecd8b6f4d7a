#include "config/shorter_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/period.h"
#include "config/data_settings.h"
#include "config/task_facts.h"

namespace roformer {
namespace {

constexpr std::int64_t kSmokeSteps = 2;

const Assignment* last_of(const std::vector<Assignment>& assignments, const std::string& key) {
  const auto found = std::find_if(assignments.rbegin(), assignments.rend(),
                                  [&](const Assignment& one) { return one.key == key; });
  return found == assignments.rend() ? nullptr : &*found;
}

bool is_flag(const Assignment& assignment) {
  return assignment.where == "--" + assignment.key;
}

// Nothing for a text that is no period, which is reported where it is applied.
std::optional<Period> period_of(const Assignment& assignment) {
  try {
    return parse_period(assignment.text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool fits(const Period& warmup, const Period& steps) {
  if (warmup.unit == steps.unit) return warmup.amount <= steps.amount;
  return warmup.unit != Period::Unit::minutes && steps.unit != Period::Unit::minutes;
}

}  // namespace

std::string shorten_warmup(std::vector<Assignment>& assignments) {
  const Assignment* const last_steps = last_of(assignments, "training.steps");
  const Assignment* const last_warmup = last_of(assignments, "training.warmup");
  if (last_steps == nullptr || last_warmup == nullptr) return "";
  if (!is_flag(*last_steps) || is_flag(*last_warmup)) return "";
  const std::optional<Period> steps = period_of(*last_steps), warmup = period_of(*last_warmup);
  if (!steps || !warmup || steps->is_zero() || warmup->is_zero()) return "";
  if (fits(*warmup, *steps)) return "";
  Period shorter{steps->amount / 10, steps->unit};
  if (shorter.unit == Period::Unit::steps || shorter.unit == Period::Unit::tokens) {
    shorter.amount = std::ceil(shorter.amount);
  }
  const std::string text = to_string(shorter);
  std::string notice =
      fmt::format("training.warmup is {}, a tenth of --training.steps {}: {} ({}) does not fit",
                  text, last_steps->text, last_warmup->text, last_warmup->where);
  assignments.push_back(
      {.key = "training.warmup", .text = text, .where = last_steps->where, .folder = {}});
  return notice;
}

std::vector<Override> smoke_flags(const Settings& settings) {
  std::vector<Override> flags{{"run", settings.run + "-smoke"},
                              {"training.log_every", "1"},
                              {"training.validate_every", "0"},
                              {"training.save_every", "0"},
                              {"training.patience", "0"}};
  if (settings.stages.empty()) {
    flags.push_back({"training.steps", std::to_string(kSmokeSteps)});
  } else {
    std::vector<StageSettings> stages = settings.stages;
    for (StageSettings& stage : stages) {
      stage.steps = std::min(stage.steps, kSmokeSteps);
      stage.warmup = std::min(stage.warmup, stage.steps);
    }
    flags.push_back({"stages", print_stages(stages)});
  }
  if (!settings.training.warmup.is_zero()) flags.push_back({"training.warmup", "1"});
  const TaskFacts& facts = task_facts(settings.task);
  constexpr std::int64_t kRows = 8;
  const auto at_most = [&](const char* key, std::int64_t now, std::int64_t most) {
    if (now == 0 || now > most) flags.push_back({key, std::to_string(most)});
  };
  if (facts.data == TaskData::prepared_text) {
    at_most("data.validation_tokens", settings.data.validation_tokens,
            kRows * settings.data.length);
  }
  if (facts.has_decoder) at_most("decoding.sentences", settings.decoding.sentences, kRows);
  if (facts.data == TaskData::generated) {
    at_most("probe.examples", settings.probe.examples, kRows);
  }
  return flags;
}

}  // namespace roformer
