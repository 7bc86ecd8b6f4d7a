#include "study/job_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <list>
#include <thread>

#include "base/log.h"
#include "base/progress.h"
#include "training/signals.h"

namespace roformer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr auto kProgressInterval = std::chrono::seconds(1);
constexpr int kSignalExit = 128;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The last line that is not blank, without the word that the terminal shows in front of errors.
std::string last_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  constexpr std::string_view kError = "error: ";
  if (last.starts_with(kError)) last.erase(0, kError.size());
  return last;
}

JobOutcome outcome_of(const ChildExit& exit, const Job& job, int passed_on) {
  if (exit.good()) return {.end = JobOutcome::End::good};
  const bool obeyed =
      passed_on != 0 && (exit.signal == passed_on || exit.code == kSignalExit + passed_on);
  if (obeyed) return {.end = JobOutcome::End::stopped};
  std::string reason = exit.signal != 0 ? fmt::format("killed by signal {} ({})", exit.signal,
                                                      ::strsignal(exit.signal))
                                        : fmt::format("exit code {}", exit.code);
  const std::string line = last_line(job.command.output);
  if (!line.empty()) reason += ": " + line;
  return {.end = JobOutcome::End::failed, .reason = std::move(reason), .killed = exit.signal != 0};
}

class JobRunner {
 public:
  JobRunner(const std::vector<Job>& jobs, const JobOptions& options)
      : jobs_(jobs), options_(options), result_{.outcomes = std::vector<JobOutcome>(jobs.size())} {
    for (const Job& job : jobs) done_at_start_.push_back(job.progress().done);
    done_ = done_at_start_;
  }

  JobOutcomes run() {
    const StopSignals signals;
    std::size_t next = 0;
    while (true) {
      pass_on_signal();
      while (result_.signal == 0 && next < jobs_.size() &&
             std::ssize(running_) < options_.parallel) {
        start(next++);
      }
      if (running_.empty()) break;
      std::this_thread::sleep_for(kPollInterval);
      collect();
      show_progress();
    }
    line_.clear();
    return std::move(result_);
  }

 private:
  struct Running {
    Running(std::size_t job, const ChildProcess::Command& command, std::shared_ptr<void> held)
        : index(job), claim(std::move(held)), process(command) {}

    std::size_t index;
    std::shared_ptr<void> claim;
    Clock::time_point start = Clock::now();
    ChildProcess process;
  };

  const std::vector<Job>& jobs_;
  const JobOptions& options_;
  JobOutcomes result_;
  std::list<Running> running_;  // a process cannot be moved
  std::vector<double> done_at_start_;
  std::vector<double> done_;  // [jobs]
  Clock::time_point start_ = Clock::now();
  Clock::time_point looked_ = Clock::now();
  StatusLine line_;

  std::string title(std::size_t index) const {
    return fmt::format("[{}/{}] {}", options_.finished + index + 1,
                       options_.finished + jobs_.size(), jobs_[index].name);
  }

  void start(std::size_t index) {
    ChildProcess::Command command = jobs_[index].command;
    std::shared_ptr<void> claim;
    if (jobs_[index].claim) {
      claim = jobs_[index].claim(command);
      if (!claim) {
        done_[index] = 1;
        result_.outcomes[index] = {.end = JobOutcome::End::claimed,
                                   .reason = "another process runs it"};
        return;
      }
    }
    line_.clear();
    log::info("{}", title(index));
    running_.emplace_back(index, command, std::move(claim));
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
      const JobOutcome& outcome = result_.outcomes[running->index] =
          outcome_of(*exit, jobs_[running->index], StopSignals::received());
      done_[running->index] = 1;
      line_.clear();
      if (outcome.end == JobOutcome::End::good) {
        log::info("{}: done in {}", title(running->index),
                  format_duration(seconds_since(running->start)));
      } else if (outcome.end == JobOutcome::End::failed) {
        log::warn("{}: failed, {}", title(running->index), outcome.reason);
      }
      running = running_.erase(running);
    }
  }

  void show_progress() {
    if (running_.empty() || !line_.due()) return;
    if (Clock::now() - looked_ < kProgressInterval) return;
    looked_ = Clock::now();
    std::string text;
    for (const Running& running : running_) {
      const JobProgress progress = jobs_[running.index].progress();
      done_[running.index] = progress.done;
      text += fmt::format("{}{} ({:.0f} %)", text.empty() ? "" : "  ", title(running.index),
                          100 * progress.done);
      if (!progress.text.empty()) text += "  " + progress.text;
    }
    line_.show(text + time_left());
  }

  // From what this session has done so far: the jobs of a study are of about the same size.
  std::string time_left() const {
    double done = 0;
    double left = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      done += std::max(0.0, done_[i] - done_at_start_[i]);
      left += 1 - done_[i];
    }
    if (done <= 0) return "";
    return fmt::format("  {} left in all", format_duration(seconds_since(start_) / done * left));
  }
};

}  // namespace

JobOutcomes run_jobs(const std::vector<Job>& jobs, const JobOptions& options) {
  return JobRunner(jobs, options).run();
}

}  // namespace roformer
