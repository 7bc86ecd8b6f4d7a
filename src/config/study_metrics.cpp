#include "config/study_metrics.h"

#include <string_view>

namespace roformer {
namespace {

constexpr std::string_view kMedian = "_median";
constexpr std::string_view kMismatched = "_mismatched";

std::optional<std::string> without(const std::string& name, std::string_view ending) {
  if (!name.ends_with(ending) || name.size() == ending.size()) return std::nullopt;
  return name.substr(0, name.size() - ending.size());
}

void add(std::vector<std::string>& names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
}

// Of one validation set.
std::vector<std::string> glue_validation(GlueTask task) {
  std::vector<std::string> names{"validation_loss", "collapsed"};
  if (task == GlueTask::stsb) {
    add(names, {"pearson", "spearman"});
  } else {
    names.emplace_back("accuracy");
  }
  if (task == GlueTask::mrpc || task == GlueTask::qqp) names.emplace_back("f1");
  if (task == GlueTask::cola) names.emplace_back("matthews");
  return names;
}

}  // namespace

std::vector<std::string> run_figures(const Settings& settings) {
  std::vector<std::string> names{"parameters",        "steps",      "tokens",     "minutes",
                                 "tokens_per_second", "loss_at_25", "loss_at_50", "loss_at_75"};
  switch (settings.task) {
    case TaskKind::mlm:
      add(names, {"validation_loss", "masked_accuracy", "perplexity"});
      break;
    case TaskKind::causal_lm:
      add(names, {"validation_loss", "accuracy", "perplexity", "bits_per_character"});
      break;
    case TaskKind::glue:
      add(names, {"score", "training_examples", "validation_examples"});
      for (const std::string& name : glue_validation(settings.glue.task)) {
        names.push_back(name);
        if (settings.glue.task == GlueTask::mnli) names.push_back(name + std::string(kMismatched));
      }
      break;
  }
  return names;
}

std::optional<std::string> median_of(const std::string& name) {
  return without(name, kMedian);
}

std::optional<std::string> mismatched_of(const std::string& name) {
  return without(name, kMismatched);
}

}  // namespace roformer
