// The trainings of a study, or of its tuning: which are due, each run by one process of those that
// share the folder, evaluated as soon as it is trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/run_result.h"
#include "experiments/shard.h"
#include "experiments/stored_work.h"

namespace roformer {

struct TrainingOptions {
  std::string program;  // as StudyOptions has it
  bool overwrite = false;
  std::int64_t parallel = 1;
  StudyShard shard = {};
};

// What they have come to.
struct Trainings {
  std::vector<RunResult> results;  // of all runs
  std::size_t failed = 0;          // now
  std::size_t waiting = 0;         // for other processes
  Failures failed_evaluations;     // of those that were made after their trainings
  int signal = 0;                  // that stopped them
};

// Runs what is not done yet. Throws Error (usage) as run_study does.
Trainings run_trainings(const StudySettings& study, const TrainingOptions& options);

}  // namespace roformer
