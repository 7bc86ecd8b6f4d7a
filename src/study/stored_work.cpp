#include "study/stored_work.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/directory_lock.h"
#include "base/file.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr auto kWait = std::chrono::milliseconds(500);  // for another process

}  // namespace

Job shared_job(const StoredWork& work, const fs::path& claims) {
  Job job = work.job;
  job.claim = [is_there = work.is_there,
               claim = claims / key_of(job)](ChildProcess::Command&) -> std::shared_ptr<void> {
    try {
      make_directories(claim);
      auto lock = std::make_shared<DirectoryLock>(claim);
      return is_there() ? nullptr : lock;
    } catch (const DirectoryInUse&) {
      return nullptr;
    }
  };
  return job;
}

StoredWorkOutcome make_missing(const std::vector<StoredWork>& work, const fs::path& claims,
                               const StoredWorkOptions& options) {
  StoredWorkOutcome result{.failures = options.failures};
  while (true) {
    std::vector<Job> jobs;
    for (const StoredWork& piece : work) {
      if (result.failures.contains(key_of(piece.job)) || piece.is_there()) continue;
      jobs.push_back(shared_job(piece, claims));
    }
    const JobOutcomes ended =
        run_jobs(jobs, {.parallel = options.parallel, .finished = work.size() - jobs.size()});
    result.signal = ended.signal;
    if (result.signal != 0) return result;
    bool others = false;  // are at it
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobOutcome& outcome = ended.outcomes[i];
      others |= outcome.end == JobOutcome::End::claimed;
      if (outcome.end == JobOutcome::End::failed) result.failures[key_of(jobs[i])] = outcome.reason;
    }
    if (!others) return result;
    std::this_thread::sleep_for(kWait);
  }
}

}  // namespace roformer
