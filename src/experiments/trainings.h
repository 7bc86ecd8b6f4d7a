// The trainings of a study and of its tuning. Several processes on one or many machines may share
// the study's folder. Each takes every n-th run (its shard), and one process makes each run and
// evaluates it as soon as it is trained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/launch.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/job_runner.h"
#include "experiments/protocol_record.h"
#include "experiments/run_result.h"

namespace roformer {

struct StudyShard {
  std::int64_t number = 1;  // from 1
  std::int64_t count = 1;

  bool whole() const { return count == 1; }
  bool takes(std::size_t run) const { return static_cast<std::int64_t>(run) % count == number - 1; }
};

// "2/8"; or "slurm", which reads the variables of a Slurm job array. Throws Error (usage).
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
  int signal = 0;                  // the signal that stopped them
};

// Makes the missing runs. Throws Error (usage) as run_study does.
Trainings run_trainings(const StudySettings& study, const TrainingOptions& options);

// --- Trials of the tuning ---

// A record may already hold trials (tune.record), given as `recorded`. Returns whether the record's
// result is used. It is used only if this folder has no finished trial.
bool is_taken(const StudyRun& trial, const RecordedTrials& recorded);

// The results of all runs of StudyTuning::study so far.
std::vector<RunResult> trial_results(const StudySettings& trials, const RecordedTrials& recorded);

// Makes the trials that a choice needs and that are neither done nor recorded. Throws Error (usage)
// as run_study does.
Trainings run_trials(const StudyTuning& tuning, const RecordedTrials& recorded,
                     const TrainingOptions& options);

// --- Runs of a protocol (study.version) ---
//
// A command shows the runs that its flags ask for, which are made now, and those that earlier
// commands made, so that the tables grow and no row is made twice. A run that was interrupted or
// failed keeps its place, because a mean over the seeds that succeeded is not the mean over all.

// The study with the trials of each choice whose requested trials are all finished or recorded, and
// with the runs that these trials choose for. Warns about existing runs that are dropped because
// some of their trials are missing. Other studies, and those without tuning, stay unchanged.
StudySettings with_trials_at_hand(const StudySettings& study, const RecordedTrials& recorded);

// For use after the choices are made: the runs that are requested, finished or begun. Studies
// without a protocol stay unchanged.
StudySettings with_runs_at_hand(const StudySettings& study);

}  // namespace roformer
