// `roformer evaluate` for the run of a probe of length: how many questions it has right at any
// length, with another frequency scaling say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runs/trained_model.h"

namespace roformer {

struct ProbeEvaluation {
  std::vector<std::int64_t> lengths;  // in characters; empty: those of its validations
  std::int64_t questions = 0;         // at each length; 0: as in its validations
  std::string against;                // the run of another probe of its kind
  TrainedModelOptions opening;        // as the first was opened
  bool json = false;
};

// Prints to standard output. Throws Error (usage) for a length that holds no question, or that the
// kind or the scheme's tables do not reach.
void evaluate_probe(const TrainedModel& trained, const ProbeEvaluation& options);

}  // namespace roformer
