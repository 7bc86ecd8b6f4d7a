// A study from its file to its report: runs what is not done yet, each run as a child process of
// this program in runs/STUDY/RUN, and puts the results into one table. A run that fails or cannot
// be run is a row that says so. Where the study has an `evaluate:` section, each run is evaluated
// at its lengths as soon as it is trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/origin.h"
#include "base/process.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/shard.h"
#include "experiments/study_results.h"
#include "report/table.h"

namespace roformer {

struct StudyOptions {
  bool overwrite = false;     // replace runs that were made with other settings
  std::int64_t parallel = 1;  // runs at a time
  StudyShard shard = {};      // which runs are this process's
  StudyOrder order = StudyOrder::metric;
  Origin origin;
  // Started as `PROGRAM train CONFIG [--resume|--overwrite]` and `PROGRAM evaluate RUN ..`. This
  // very program by default, even when its file has been replaced meanwhile.
  std::string program = startable_program();
};

struct StudyOutcome : StudyResults {
  StudySettings study;            // as it was run: with what its tuning chose
  std::filesystem::path report;   // runs/STUDY/report.html
  std::size_t failed = 0;         // runs
  std::size_t failed_trials = 0;  // of the tuning
  std::size_t failed_evaluations = 0;
  int signal = 0;  // that stopped it; then there are no rows and no path of a report
  // Of a shard, with no rows and no path either: the runs, or trials of the tuning, that are still
  // to be finished by others; and that another shard found all finished first.
  std::size_t waiting = 0;
  bool waits_for_tuning = false;
  bool drawn_elsewhere = false;
};

// With the values that its tuning chose, where all trials have ended; else as it is.
StudySettings as_chosen(const StudySettings& given);

// What `run_study` would find: each run and its state.
Table study_plan(const StudySettings& given);

// Throws Error: usage, before anything is run, when runs were made with other settings and
// `overwrite` is not given; failure when the folder cannot be written or another study holds it.
// Shards share the folder. A run is claimed before it is started: other shards leave it alone, and
// a whole study waits for it.
StudyOutcome run_study(const StudySettings& study, const StudyOptions& options);

}  // namespace roformer
