// A study from its file to its report: makes the missing runs, each as a child process of this
// program in runs/STUDY/RUN, and puts the results into one table. A run that fails or is refused is
// a row with the reason. If the study has an `evaluate:` section, each run is evaluated at its
// lengths as soon as it is trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/origin.h"
#include "base/process.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/study_results.h"
#include "experiments/trainings.h"
#include "report/table.h"

namespace roformer {

struct StudyOptions {
  bool overwrite = false;     // replace runs that were made with other settings
  std::int64_t parallel = 1;  // runs at a time
  StudyShard shard = {};      // which runs are this process's
  StudyOrder order = StudyOrder::metric;
  Origin origin;
  // The program that is started as `PROGRAM train CONFIG [--resume|--overwrite]` and `PROGRAM
  // evaluate RUN ..`. The default is this program, even if its file has been replaced since.
  std::string program = startable_program();
};

struct StudyOutcome : StudyResults {
  StudySettings study;            // the study as it ran, with the choices of its tuning
  std::filesystem::path report;   // runs/STUDY/report.html
  std::size_t failed = 0;         // runs
  std::size_t failed_trials = 0;  // of the tuning
  std::size_t failed_evaluations = 0;
  // There are no rows and no report if a signal stopped the study, if a shard found runs or tuning
  // trials that other shards must finish, or if another shard draws the table.
  int signal = 0;
  std::size_t waiting = 0;
  bool waits_for_tuning = false;
  bool drawn_elsewhere = false;
};

// The study with the choices of its tuning if all trials have ended; else unchanged.
StudySettings as_chosen(const StudySettings& given);

// Each run with its state, as `run_study` would find it.
Table study_plan(const StudySettings& given);

// Throws Error: usage, before anything runs, if runs were made with other settings and `overwrite`
// is not given; failure if the folder cannot be written or another study holds it. Shards share the
// folder: a shard claims each run before it starts it, other shards skip the run, and a whole study
// waits for it.
StudyOutcome run_study(const StudySettings& study, const StudyOptions& options);

}  // namespace roformer
