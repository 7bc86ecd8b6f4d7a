#include "experiments/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <iterator>
#include <list>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "training/signals.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr auto kProgressInterval = std::chrono::seconds(1);
// The time between checks of other processes' jobs. Checks are slow if those run on other machines.
constexpr auto kFirstLook = std::chrono::milliseconds(500),
               kLastLook = std::chrono::milliseconds(16'000);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The end of the output, which holds its last line.
std::string read_end(const std::filesystem::path& output) {
  constexpr std::size_t kEnd = 64 * 1024;  // bytes
  const MappedFile file(output);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  return std::string(text.substr(text.size() - std::min(text.size(), kEnd)));
}

// The last line of the job's output, without the prefix of error messages.
std::string last_words(const Job& job) {
  constexpr std::string_view kError = "error: ";
  std::error_code error;
  const std::filesystem::path& file = job.command.output;
  std::string line = std::filesystem::exists(file, error) ? last_line(read_end(file)) : "";
  if (line.starts_with(kError)) line.erase(0, kError.size());
  return line;
}

JobOutcome outcome_of(const ChildExit& exit, const Job& job, int passed_on) {
  if (exit.good()) return {.end = JobOutcome::End::good};
  const bool obeyed =
      passed_on != 0 && (exit.signal == passed_on || exit.code == kSignalExit + passed_on);
  if (obeyed) return {.end = JobOutcome::End::stopped};
  std::string reason = exit.signal != 0 ? fmt::format("killed by signal {} ({})", exit.signal,
                                                      ::strsignal(exit.signal))
                                        : fmt::format("exit code {}", exit.code);
  const std::string line = last_words(job);
  if (!line.empty()) reason += ": " + line;
  return {.end = JobOutcome::End::failed, .reason = std::move(reason)};
}

class JobRunner {
 public:
  JobRunner(const std::vector<Job>& jobs, const JobOptions& options)
      : jobs_(jobs), options_(options), result_{.outcomes = std::vector<JobOutcome>(jobs.size())} {
    for (const Job& job : jobs) {
      done_at_start_.push_back(job.progress().done);
      all_ += 1 + job.followers;
    }
    done_ = done_at_start_;
  }

  JobOutcomes run() {
    const StopSignals signals;
    std::size_t next = 0;
    while (true) {
      pass_on_signal();
      ask_again();
      // Claims take time, so this looks for a signal before each.
      while (StopSignals::received() == 0 && std::ssize(running_) < options_.parallel) {
        if (!following_.empty()) {
          start(following_.front(), std::nullopt);
          following_.pop_front();
        } else if (next < jobs_.size()) {
          start(jobs_[next], next);
          ++next;
        } else {
          break;
        }
      }
      pass_on_signal();  // a signal may have come while jobs were claimed
      if (running_.empty() && (held_.empty() || result_.signal != 0)) break;
      std::this_thread::sleep_for(kPollInterval);
      collect();
      show_progress();
    }
    pass_on_signal();  // or after the last look
    line_.clear();
    return std::move(result_);
  }

 private:
  struct Running {
    Running(Job what, std::optional<std::size_t> number, const ChildProcess::Command& command,
            std::shared_ptr<void> held)
        : job(std::move(what)), index(number), claim(std::move(held)), process(command) {}

    Job job;
    std::optional<std::size_t> index;  // in jobs_; none for further jobs
    std::shared_ptr<void> claim;
    Clock::time_point start = Clock::now();
    ChildProcess process;
  };

  // Another process does the job.
  struct Held {
    Job job;
    std::optional<std::size_t> index;
  };

  const std::vector<Job>& jobs_;
  const JobOptions& options_;
  JobOutcomes result_;
  std::deque<Job> following_;   // further jobs that wait
  std::list<Running> running_;  // a process cannot be moved
  std::vector<Held> held_;
  std::set<std::string> told_;  // keys of held jobs that the log has named
  Clock::time_point asked_ = Clock::now();
  std::chrono::milliseconds interval_ = kFirstLook;
  std::map<std::string, std::size_t> numbers_;  // of the jobs whose turn has come, by key
  std::size_t all_ = 0;                         // jobs and their expected followers
  std::vector<double> done_at_start_;
  std::vector<double> done_;  // [jobs]
  Clock::time_point start_ = Clock::now();
  Clock::time_point looked_ = Clock::now();
  StatusLine line_;

  // Jobs are numbered when their turn comes.
  std::string title(const Job& job) {
    const std::size_t number = numbers_.try_emplace(key_of(job), numbers_.size() + 1).first->second;
    return fmt::format("[{}/{}] {}", options_.finished + number, options_.finished + all_,
                       job.name);
  }

  void start(const Job& job, std::optional<std::size_t> index) {
    try {
      ChildProcess::Command command = job.command;
      Claim claim;
      if (job.claim) {
        claim = job.claim(command);
        if (!claim.held) return leave_alone(job, index, claim);
      }
      line_.clear();
      log::info("{}", title(job));
      running_.emplace_back(job, index, command, std::move(claim.held));
    } catch (const Error& error) {
      end(job, index, {.end = JobOutcome::End::failed, .reason = error.what()});
    }
  }

  void leave_alone(const Job& job, std::optional<std::size_t> index, const Claim& claim) {
    const bool wait = !claim.holder.empty() && (options_.wait || claim.leaves);
    if (!claim.holder.empty() && told_.insert(key_of(job)).second) {
      line_.clear();
      log::info("{}: left alone{}, {}", title(job), wait ? " for now" : "", claim.holder);
    }
    if (wait) {
      held_.push_back({.job = job, .index = index});
    } else {
      end(job, index, {.end = JobOutcome::End::claimed, .reason = claim.holder});
    }
  }

  void ask_again() {
    if (held_.empty() || Clock::now() - asked_ < interval_) return;
    const std::size_t before = held_.size();
    for (const Held& held : std::exchange(held_, {})) {
      if (StopSignals::received() == 0 && std::ssize(running_) < options_.parallel) {
        start(held.job, held.index);
      } else {
        held_.push_back(held);
      }
    }
    asked_ = Clock::now();
    interval_ = held_.size() < before ? kFirstLook : std::min(2 * interval_, kLastLook);
  }

  void end(const Job& job, std::optional<std::size_t> index, JobOutcome outcome) {
    std::vector<Job> asked_for;
    if (outcome.end == JobOutcome::End::good && job.then) asked_for = job.then();
    all_ += asked_for.size();
    all_ -= job.followers;
    std::ranges::move(asked_for, std::back_inserter(following_));
    if (outcome.end == JobOutcome::End::failed) {
      line_.clear();
      log::warn("{}: failed, {}", title(job), outcome.reason);
    }
    if (!index) {
      result_.following[key_of(job)] = std::move(outcome);
      return;
    }
    done_[*index] = 1;
    result_.outcomes[*index] = std::move(outcome);
  }

  void pass_on_signal() {
    if (result_.signal != 0 || StopSignals::received() == 0) return;
    result_.signal = StopSignals::received();
    for (const Running& running : running_) running.process.send(result_.signal);
  }

  void collect() {
    for (auto running = running_.begin(); running != running_.end();) {
      const std::optional<ChildExit> exit = running->process.poll();
      if (!exit) {
        ++running;
        continue;
      }
      const JobOutcome outcome = outcome_of(*exit, running->job, StopSignals::received());
      if (outcome.end == JobOutcome::End::good) {
        line_.clear();
        log::info("{}: done in {}", title(running->job),
                  format_duration(seconds_since(running->start)));
      }
      end(running->job, running->index, outcome);
      running = running_.erase(running);
    }
  }

  void show_progress() {
    if (running_.empty() || !line_.due()) return;
    if (Clock::now() - looked_ < kProgressInterval) return;
    looked_ = Clock::now();
    std::vector<std::string> runs;
    std::string detail;  // of a single job, on a terminal
    for (const Running& running : running_) {
      const JobProgress progress = running.job.progress();
      std::string& run = runs.emplace_back(title(running.job));
      if (running.index) {  // further jobs are short
        done_[*running.index] = progress.done;
        run += fmt::format(" ({:.0f} %)", 100 * progress.done);
      }
      if (progress.text.empty()) continue;
      if (!line_.is_terminal()) {
        run += "  " + progress.text;
      } else if (running_.size() == 1) {
        detail = progress.text;
      }
    }
    if (const std::string left = time_left(); !left.empty()) runs.push_back(left);
    if (!detail.empty()) runs.push_back(detail);
    line_.show(runs);
  }

  // Extrapolates from the work of this command: the jobs of a study have about the same size.
  std::string time_left() const {
    double done = 0;
    double left = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      done += std::max(0.0, done_[i] - done_at_start_[i]);
      left += 1 - done_[i];
    }
    if (done <= 0 || left <= 0) return "";
    return fmt::format("{} left in all", format_duration(seconds_since(start_) / done * left));
  }
};

}  // namespace

const std::string& key_of(const Job& job) {
  return job.key.empty() ? job.name : job.key;
}

JobOutcomes run_jobs(const std::vector<Job>& jobs, const JobOptions& options) {
  return JobRunner(jobs, options).run();
}

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
