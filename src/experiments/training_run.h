// The trainings of a study as their folders show them: which are finished, begun or made with other
// settings, how far one is, and what it came to.
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
    finished,  // to its last step, until validations stopped improving, or until it diverged
    changed,   // made with settings or data that would give other results, or damaged since
    refused,   // its settings contradict themselves
  };
  State state = State::waiting;
  double done = 0;  // share of its training, in [0, 1]
  bool diverged = false;
  // "training.steps 600 -> 800" (stored, now), "data 9f0c... -> 31d2..." (fingerprints); or what is
  // damaged
  std::vector<std::string> changes;
};

std::filesystem::path run_folder(const StudyRun& run);

// The flags with which a run that was begun goes on as the study has it today: a continuation
// takes the settings that the run stored, of which some may change (where the data lie, threads).
std::vector<std::string> resuming_flags(const StudyRun& run);

// Puts back or takes away what a process that was killed while it replaced the run has left.
void recover_training(const StudyRun& run);

// Looks, and changes nothing.
TrainingRunStatus training_status(const StudyRun& run);

// The last line of its metrics; nothing where there is none that can be read.
JobProgress training_progress(const StudyRun& run);

// Figures, by the names of run_figures() in config/study_metrics.h: parameters, steps, tokens,
// minutes, tokens_per_second, milliseconds_per_step and peak_memory (MiB of the host's, as long as
// the process did not start anew); those of one validation ("loss" as validation_loss, mlm's
// "accuracy" as masked_accuracy, the others by their own name); loss_at_25, loss_at_50 and
// loss_at_75, the validation loss when that share of the steps was done. In glue also score, the
// task's own metric of the same validation, training_examples and validation_examples. Curves: the
// figures of all validations over the steps. Figures that are not finite are left out, and runs
// that are not finished have none.
RunResult training_result(const StudyRun& run);

}  // namespace roformer
