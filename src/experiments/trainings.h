// The trainings of a study, or of its tuning. Several processes on one or many machines may share
// the study's folder: each takes every n-th run (its shard), each run is made by one process, and
// it is evaluated as soon as it is trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/launch.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/job_runner.h"
#include "experiments/run_result.h"

namespace roformer {

struct StudyShard {
  std::int64_t number = 1;  // from 1
  std::int64_t count = 1;

  bool whole() const { return count == 1; }
  bool takes(std::size_t run) const { return static_cast<std::int64_t>(run) % count == number - 1; }
};

// "2/8"; or "slurm", by the variables of a Slurm job array. Throws Error (usage).
StudyShard parse_shard(const std::string& text,
                       const Environment& environment = process_environment());

struct TrainingOptions {
  std::string program;  // StudyOptions::program
  bool overwrite = false;
  std::int64_t parallel = 1;
  StudyShard shard = {};
};

struct Trainings {
  std::vector<RunResult> results;  // of all runs
  std::size_t failed = 0;          // in this call
  std::size_t waiting = 0;         // runs that other processes must finish
  Failures failed_evaluations;     // of evaluations that followed their trainings
  int signal = 0;                  // that stopped them
};

// Makes the runs that are missing. Throws Error (usage) as run_study does.
Trainings run_trainings(const StudySettings& study, const TrainingOptions& options);

}  // namespace roformer
