// Which checkpoint of a finished run a study evaluates, and the name of the file in which the
// figures stay: it tells weights, data and options apart, so that nothing is evaluated twice.
#pragma once

#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"

namespace roformer {

// The checkpoint of the validation that the run's figures are of, so that both stand for the same
// weights, and where it is not kept the other.
struct EvaluatedWeights {
  std::string which;  // "last" or "best", for --checkpoint
  std::string state;  // what tells its checkpoint from another's, as text
};

// Throws Error where the run, which is finished, has no checkpoint.
EvaluatedWeights weights_of(const StudyRun& run);

// "NAME-0123456789abcdef", for a file's name. `data` is the fingerprint of what it is evaluated on,
// `how` the flags.
std::string evaluation_name(const std::string& name, const EvaluatedWeights& weights,
                            const std::string& data, const std::vector<std::string>& how);

}  // namespace roformer
