#include "experiments/declaration/study_metrics.h"

#include <string_view>

#include "config/task_facts.h"

namespace roformer {
namespace {

constexpr std::string_view kMedian = "_median";
constexpr std::string_view kMismatched = "_mismatched";

std::optional<std::string> without(const std::string& name, std::string_view ending) {
  if (!name.ends_with(ending) || name.size() == ending.size()) return std::nullopt;
  return name.substr(0, name.size() - ending.size());
}

}  // namespace

std::vector<std::string> run_figures(const Settings& settings) {
  std::vector<std::string> names{"parameters",
                                 "steps",
                                 "tokens",
                                 "minutes",
                                 "tokens_per_second",
                                 "milliseconds_per_step",
                                 "peak_memory",
                                 "loss_at_25",
                                 "loss_at_50",
                                 "loss_at_75"};
  const TaskFacts& facts = task_facts(settings.task);
  for (const TaskFigure& figure : facts.figures(settings)) {
    names.push_back(figure.metric);
    if (settings.training.ema > 0) names.push_back(std::string(kAveraged) + figure.metric);
  }
  if (facts.labelled) {
    names.insert(names.end(), {"score", "training_examples", "validation_examples"});
  }
  return names;
}

std::string test_loss_at(std::int64_t length, const Settings& settings) {
  return length == settings.data.length ? "test_loss"
                                        : "test_loss_at_length_" + std::to_string(length);
}

std::vector<std::string> translation_scores() {
  return {"test_bleu", "test_chrf", "test_bleu_compound_split"};
}

std::optional<std::string> median_of(const std::string& name) {
  return without(name, kMedian);
}

std::optional<std::string> mismatched_of(const std::string& name) {
  return without(name, kMismatched);
}

}  // namespace roformer
