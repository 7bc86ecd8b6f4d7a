// Runs the jobs of a study, each a child process, a few at a time, with a line of progress over all
// of them. It knows nothing of what a job does: trainings today, evaluations just as well.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/child_process.h"

namespace roformer {

// What a job has come to so far, for the progress line.
struct JobProgress {
  double done = 0;   // share of its work, in [0, 1]
  std::string text;  // "step 120  loss 5.43"; may be empty
};

// What came of claiming a job that other processes may do, too.
struct Claim {
  std::shared_ptr<void> held;  // keeps them off for as long as it lives; null: it is not ours
  std::string holder;          // where it is not, who is at it, in words; "": it is done
  bool leaves = false;  // who is at it has no part in this work, and whoever comes next waits
};

struct Job {
  std::string name;      // as people are told
  std::string key = {};  // of its own, where others may have its name; empty: the name
  ChildProcess::Command command;
  std::function<JobProgress()> progress;  // asked once a second while it runs
  // Asked when its turn comes, where other processes may do the same job; may change the command.
  std::function<Claim(ChildProcess::Command&)> claim = {};
  // Asked when it has ended well: further jobs, which go before all that wait. Throws nothing.
  std::function<std::vector<Job>()> then = {};
  std::size_t followers = 0;  // how many that will be, as far as is known, for "3 of 18"
};

const std::string& key_of(const Job& job);

struct JobOutcome {
  enum class End {
    good,     // exit code 0
    stopped,  // left because a signal that was passed on asked it to
    failed,   // any other end
    not_run,  // a signal came before its turn
    claimed,  // by another process, which is at it or has done it
  };
  End end = End::not_run;
  std::string reason;  // of a failure: how it ended and the last line of its output
};

struct JobOptions {
  std::int64_t parallel = 1;  // children at a time
  std::size_t finished = 0;   // jobs of the study that were done before, for "3 of 18"
  bool wait = false;          // for jobs that others are at: done by them, or claimed after all
};

struct JobOutcomes {
  std::vector<JobOutcome> outcomes;             // [jobs]
  std::map<std::string, JobOutcome> following;  // of the jobs that these asked for, by key
  int signal = 0;                               // of StopSignals, when one of them came, or 0
};

// The first of the StopSignals is passed on to the children, which save and leave, and starts no
// further one; at a second SIGINT or SIGTERM this process leaves at once, and its children with it.
// A job that cannot be claimed or started has failed.
JobOutcomes run_jobs(const std::vector<Job>& jobs, const JobOptions& options);

}  // namespace roformer
