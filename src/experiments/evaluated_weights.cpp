#include "experiments/evaluated_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/random.h"
#include "experiments/run_facts.h"
#include "experiments/training_run.h"
#include "training/checkpoint.h"
#include "training/training_state.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool keeps_step(const fs::path& run, std::int64_t step) {
  try {
    find_checkpoint(run, std::to_string(step));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

EvaluatedWeights weights_of(const StudyRun& run) {
  const fs::path folder = run_folder(run);
  const std::optional<TrainingSummary> summary = read_training_summary(folder);
  ROFORMER_ASSERT(summary);
  bool best = shows_best_validation(run) && summary->best() != nullptr;
  if (!keeps_step(folder, best ? summary->best()->step : summary->consumed.steps)) best = !best;
  const std::string which = best ? "best" : "last";
  const fs::path checkpoint = find_checkpoint(folder, which);
  return {.which = which,
          .state = read_file(checkpoint / "state.json", kLargestDescription) +
                   read_file(checkpoint / "config.yaml", kLargestDescription)};
}

std::string evaluation_name(const std::string& name, const EvaluatedWeights& weights,
                            const std::string& data, const std::vector<std::string>& how) {
  std::string key = weights.state + data;
  for (const std::string& argument : how) key += " " + argument;
  return name + "-" + hexadecimal(random_word(key));
}

}  // namespace roformer
