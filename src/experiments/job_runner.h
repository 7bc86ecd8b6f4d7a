// The jobs of a study: child processes, a few at a time, with one line of progress for all. A job
// may train, evaluate or translate; the runner does not know which.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/inner_path.h"
#include "experiments/child_process.h"

namespace roformer {

// For the progress line.
struct JobProgress {
  double done = 0;   // share of its work, in [0, 1]
  std::string text;  // "step 120  loss 5.43"; may be empty
};

// The result of claiming a job that other processes may also do.
struct Claim {
  std::shared_ptr<void> held;  // excludes others while it lives; null: the claim failed
  std::string holder;          // if it failed: who has the job, in words; "": the job is done
  bool leaves = false;         // the holder is about to leave, so wait for it in any case
};

struct Job {
  std::string name;      // for people
  std::string key = {};  // unique if other jobs may have the same name; empty: the name
  ChildProcess::Command command;
  std::function<JobProgress()> progress;  // called once a second while it runs
  // Called when the job's turn comes, if other processes may do the same job. May change the
  // command.
  std::function<Claim(ChildProcess::Command&)> claim = {};
  // Called after success. Returns further jobs, which run before all waiting jobs. Throws nothing.
  std::function<std::vector<Job>()> then = {};
  std::size_t followers = 0;  // the expected number of further jobs, for "3 of 18"
};

const std::string& key_of(const Job& job);

struct JobOutcome {
  enum class End {
    good,     // exit code 0
    stopped,  // by a signal that was passed on
    failed,   // any other end
    not_run,  // a signal came before its turn
    claimed,  // by another process, which does it or has done it
  };
  End end = End::not_run;
  std::string reason;  // of a failure: exit code or signal, and the last line of the output
};

struct JobOptions {
  std::int64_t parallel = 1;  // children at a time
  std::size_t finished = 0;   // jobs of the study that were done before, for "3 of 18"
  bool wait = false;          // for jobs of others, until they are done or can be claimed
};

struct JobOutcomes {
  std::vector<JobOutcome> outcomes;             // [jobs]
  std::map<std::string, JobOutcome> following;  // of further jobs (Job::then), by key
  int signal = 0;                               // the first of StopSignals that came, or 0
};

// Passes the first signal of StopSignals on to the children, which save and exit, and starts no
// further job. A second SIGINT or SIGTERM ends this process and its children at once. A job that
// cannot be claimed or started counts as failed.
JobOutcomes run_jobs(const std::vector<Job>& jobs, const JobOptions& options);

// Work whose result is a file: evaluations and translations. Keeps existing results. Several
// processes that share a folder make each result once.
struct StoredWork {
  Job job;                         // with a unique key
  std::function<bool()> is_there;  // whether the complete result exists
};

// The job, which another process may do instead. The process that does it holds CLAIMS/KEY.
Job shared_job(const StoredWork& work, const InnerPath& claims);

using Failures = std::map<std::string, std::string>;  // how jobs failed, by their keys

struct StoredWorkOutcome {
  Failures failures;  // the earlier ones included
  int signal = 0;     // that stopped the work
};

struct StoredWorkOptions {
  std::int64_t parallel = 1;
  Failures failures = {};  // of this command; such jobs are not tried again
};

// Makes the missing results, and waits for those that other processes make.
StoredWorkOutcome make_missing(const std::vector<StoredWork>& work, const InnerPath& claims,
                               const StoredWorkOptions& options);

}  // namespace roformer
