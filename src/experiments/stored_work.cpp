#include "experiments/stored_work.h"

#include <utility>

#include "base/directory_lock.h"
#include "base/file.h"

namespace roformer {
namespace fs = std::filesystem;
Job shared_job(const StoredWork& work, const InnerPath& claims) {
  Job job = work.job;
  job.claim = [is_there = work.is_there, claim = claims / key_of(job)](ChildProcess::Command&) {
    Claim claimed;
    try {
      claim.make_folder();
      auto lock = std::make_shared<DirectoryLock>(claim);
      if (!is_there()) claimed.held = std::move(lock);
    } catch (const DirectoryInUse& problem) {
      claimed.holder = problem.parts().message;
    }
    return claimed;
  };
  return job;
}

StoredWorkOutcome make_missing(const std::vector<StoredWork>& work, const InnerPath& claims,
                               const StoredWorkOptions& options) {
  StoredWorkOutcome result{.failures = options.failures};
  std::vector<Job> jobs;
  for (const StoredWork& piece : work) {
    if (result.failures.contains(key_of(piece.job)) || piece.is_there()) continue;
    jobs.push_back(shared_job(piece, claims));
  }
  const JobOutcomes ended = run_jobs(
      jobs, {.parallel = options.parallel, .finished = work.size() - jobs.size(), .wait = true});
  result.signal = ended.signal;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& outcome = ended.outcomes[i];
    if (outcome.end == JobOutcome::End::failed) result.failures[key_of(jobs[i])] = outcome.reason;
  }
  return result;
}

}  // namespace roformer
