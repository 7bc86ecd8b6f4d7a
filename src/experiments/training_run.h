// A training of a study as its folder shows it: state, progress and result.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/job_runner.h"
#include "experiments/run_result.h"

namespace roformer {

struct TrainingRunStatus {
  enum class State {
    waiting,   // not begun
    begun,     // can be resumed
    finished,  // at its last step, when validations stopped improving, or because it diverged
    changed,   // made with settings or data that would give other results, or damaged
    refused,   // its settings contradict each other
  };
  State state = State::waiting;
  double done = 0;  // share of its training, in [0, 1]
  bool diverged = false;
  bool damaged = false;  // and therefore `changed`
  // "training.steps 600 -> 800" (stored, now), "data 9f0c... -> 31d2..." (fingerprints), or what is
  // damaged.
  std::vector<std::string> changes;
};

// Whether nothing is left to train, because the run is finished or refused.
bool is_settled(const TrainingRunStatus& status);

std::filesystem::path run_folder(const StudyRun& run);

// The flags that resume an unfinished run as the study defines it today. Resuming uses the settings
// that the run stored; some of them may change (location of the data, threads).
std::vector<std::string> resuming_flags(const StudyRun& run);

// Cleans up after a process that was killed while it replaced the run.
void recover_training(const StudyRun& run);

// Only reads the folder.
TrainingRunStatus training_status(const StudyRun& run);

// Reads the last line of its metrics. Empty if no line can be read.
JobProgress training_progress(const StudyRun& run);

// Figures by the names of run_figures() in declaration/study_metrics.h. Every run has parameters,
// steps, tokens, minutes, tokens_per_second, milliseconds_per_step and peak_memory (MiB of the
// host, of the last process). The figures of one validation have the names validation_loss (for
// "loss"), masked_accuracy (for mlm's "accuracy") and their own names otherwise. loss_at_25,
// loss_at_50 and loss_at_75 are the validation loss at that share of the steps. Labelled tasks also
// have score (the task's own metric of the same validation), training_examples and
// validation_examples. Curves hold the figures of all validations over the steps. Figures that are
// not finite are left out; runs that are not finished have no figures.
RunResult training_result(const StudyRun& run);

// The same of any run, finished or not. The validation that is shown is the best one, the state is
// not_finished for a training that can go on, and there are two more curves: training_loss and
// learning_rate. Throws Error (failure) for damaged files.
RunResult result_so_far(const StudyRun& run);

}  // namespace roformer
