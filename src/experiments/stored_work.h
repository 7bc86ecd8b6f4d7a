// Work of a study whose outcome is a file: evaluations and translations of what was trained. What
// is there is not made again; several processes that share a folder make each once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/inner_path.h"
#include "experiments/job_runner.h"

namespace roformer {

struct StoredWork {
  Job job;                         // of a key of its own
  std::function<bool()> is_there;  // what it leaves, whole
};

// The job, to be left alone where another process is at it or has done it. Who is at work holds
// CLAIMS/KEY.
Job shared_job(const StoredWork& work, const InnerPath& claims);

using Failures = std::map<std::string, std::string>;  // by a job's key: how it ended

struct StoredWorkOutcome {
  Failures failures;  // those of before among them
  int signal = 0;     // that stopped it
};

struct StoredWorkOptions {
  std::int64_t parallel = 1;
  Failures failures = {};  // of this command: not tried again
};

// Makes what is missing, and waits for what other processes are making of it.
StoredWorkOutcome make_missing(const std::vector<StoredWork>& work, const InnerPath& claims,
                               const StoredWorkOptions& options);

}  // namespace roformer
