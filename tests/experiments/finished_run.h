// A finished run of a study over position and seed, with figures that were written down.
#pragma once

#include <string>

#include "experiments/run_result.h"

namespace roformer {

inline RunResult finished_run(const std::string& position, const std::string& seed, double loss) {
  RunResult result{.name = position + "-seed" + seed,
                   .values = {position, seed},
                   .state = RunResult::State::finished};
  result.figures = {{"validation_loss", loss}, {"parameters", 1000}, {"masked_accuracy", 0.5}};
  result.curves["validation_loss"] = {{.x = 50, .y = loss + 1}, {.x = 100, .y = loss}};
  return result;
}

}  // namespace roformer
