// The trainings of a study as their folders show them: which are finished, begun or made with other
// settings, how far one is, and what it came to.
#pragma once

#include <string>
#include <vector>

#include "config/study_settings.h"
#include "study/job_runner.h"
#include "study/run_result.h"

namespace roformer {

struct TrainingRunStatus {
  enum class State {
    waiting,   // not begun
    begun,     // can be resumed
    finished,  // to its last step, or until validations stopped improving
    changed,   // begun or finished with settings that would give other results
    refused,   // its settings contradict themselves
  };
  State state = State::waiting;
  double done = 0;                   // share of its training, in [0, 1]
  std::vector<std::string> changes;  // "training.steps 600 -> 800" (stored, now)
};

std::filesystem::path run_folder(const StudyRun& run);

// Throws Error (failure) for a folder whose files are damaged.
TrainingRunStatus training_status(const StudyRun& run);

// The last line of its metrics.
JobProgress training_progress(const StudyRun& run);

// Of a GLUE task also `score`, its own metric of the last validation, and training_examples and
// validation_examples. Figures: parameters, steps, tokens, minutes, tokens_per_second; of every figure of a validation
// the last one ("validation_loss", "masked_accuracy" in mlm, the others by their own name), and
// loss_at_25, loss_at_50, loss_at_75: the validation loss when that share of the steps was done.
// Curves: the figures of the validations over the steps. Unfinished runs have no figures.
RunResult training_result(const StudyRun& run);

}  // namespace roformer
