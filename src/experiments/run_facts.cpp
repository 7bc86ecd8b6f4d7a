#include "experiments/run_facts.h"

#include <algorithm>

#include "base/error.h"

namespace roformer {

const StudyRun& run_named(const StudySettings& study, const std::string& name) {
  const auto found = std::find_if(study.runs.begin(), study.runs.end(),
                                  [&](const StudyRun& run) { return run.name == name; });
  ROFORMER_ASSERT(found != study.runs.end());
  return *found;
}

std::optional<std::size_t> seed_axis(const StudySettings& study) {
  const auto seed = std::ranges::find(study.axes, kSeedAxis, &StudyAxis::key);
  if (seed == study.axes.end()) return std::nullopt;
  return static_cast<std::size_t>(seed - study.axes.begin());
}

bool shows_best_validation(const StudyRun& run) {
  return run.settings.training.patience > 0;
}

std::optional<std::int64_t> common_training_length(const StudySettings& study) {
  const std::int64_t length = study.runs.front().settings.data.length;
  for (const StudyRun& run : study.runs) {
    if (run.settings.data.length != length) return std::nullopt;
  }
  return length;
}

}  // namespace roformer
