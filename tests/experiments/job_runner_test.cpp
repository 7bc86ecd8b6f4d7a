// Jobs that ask for others, that cannot be started, and signals between them.
#include "experiments/job_runner.h"

#include <csignal>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

Job shell_job(const TemporaryFolder& folder, const std::string& name, const std::string& script) {
  return {.name = name,
          .command = {.program = "/bin/sh",
                      .arguments = {"-c", script},
                      .output = folder.path / (name + ".txt")},
          .progress = [] { return JobProgress{}; }};
}

}  // namespace

TEST_CASE("what a job asks for goes before all that wait, and a failure is told by its name") {
  const TemporaryFolder folder;
  const std::string order = (folder.path / "order").string();
  const auto job = [&](const std::string& name, const std::string& more) {
    return shell_job(folder, name, "echo " + name + " >> " + order + more);
  };
  std::vector<Job> jobs{job("first", ""), job("second", ""), job("third", "; exit 4")};
  jobs[0].then = [&] { return std::vector<Job>{job("a", ""), job("b", "; echo no >&2; exit 3")}; };
  jobs[2].then = [&] { return std::vector<Job>{job("never", "")}; };
  const JobOutcomes ended = run_jobs(jobs, {});
  CHECK(read_file(order) == "first\na\nb\nsecond\nthird\n");
  CHECK(ended.outcomes[1].end == JobOutcome::End::good);
  CHECK(ended.outcomes[2].end == JobOutcome::End::failed);
  CHECK(ended.following.at("a").end == JobOutcome::End::good);
  CHECK(ended.following.at("b").reason == "exit code 3: no");
  CHECK_FALSE(ended.following.contains("never"));
}

TEST_CASE("what jobs ask for is counted beside them") {
  const TemporaryFolder folder;
  std::vector<Job> jobs{shell_job(folder, "one", "exit 0"), shell_job(folder, "two", "exit 3"),
                        shell_job(folder, "three", "exit 0")};
  for (Job& job : jobs) {
    job.followers = 2;
    job.then = [&folder, name = job.name] {
      return std::vector<Job>{shell_job(folder, name + "a", "exit 0"),
                              shell_job(folder, name + "b", "exit 0")};
    };
  }
  const std::string told = said([&] { run_jobs(jobs, {.finished = 1}); });
  CHECK(has(told, "[2/10] one\n"));
  CHECK(has(told, "[3/10] onea\n"));
  CHECK(has(told, "[4/10] oneb\n"));
  CHECK(has(told, "[5/10] two\n"));
  // It failed, and asked for nothing.
  CHECK(has(told, "[6/8] three\n"));
  CHECK(has(told, "[8/8] threeb: done"));
}

TEST_CASE("a job that cannot be claimed fails alone") {
  const TemporaryFolder folder;
  std::vector<Job> jobs{shell_job(folder, "one", "exit 0"), shell_job(folder, "two", "exit 0")};
  jobs[0].claim = [](ChildProcess::Command&) -> Claim {
    throw_failure("here", "nothing can be written");
  };
  const JobOutcomes ended = run_jobs(jobs, {});
  CHECK(has(ended.outcomes[0].reason, "nothing can be written"));
  CHECK(ended.outcomes[1].end == JobOutcome::End::good);
}

TEST_CASE("a signal that comes while jobs are claimed is heard") {
  const TemporaryFolder folder;
  std::vector<Job> jobs{shell_job(folder, "one", "exit 0"), shell_job(folder, "two", "exit 0")};
  jobs[0].claim = [](ChildProcess::Command&) {
    ::raise(SIGTERM);
    return Claim{.held = nullptr, .holder = "another process has it"};
  };
  const JobOutcomes ended = run_jobs(jobs, {});
  CHECK(ended.signal == SIGTERM);
  CHECK(ended.outcomes[1].end == JobOutcome::End::not_run);
}

TEST_CASE("what another process is at is left to it, or waited for") {
  const TemporaryFolder folder;
  std::vector<Job> jobs{shell_job(folder, "one", "exit 0"), shell_job(folder, "two", "exit 0")};
  int asked = 0;
  bool done = false;  // by the other, when it is gone
  jobs[0].claim = [&](ChildProcess::Command&) {
    if (++asked < 3) return Claim{.held = nullptr, .holder = "process 1 has it"};
    return done ? Claim{} : Claim{.held = std::make_shared<int>(), .holder = ""};
  };
  SECTION("left") {
    const JobOutcomes ended = run_jobs(jobs, {});
    CHECK(ended.outcomes[0].end == JobOutcome::End::claimed);
    CHECK(ended.outcomes[0].reason == "process 1 has it");
    CHECK(ended.outcomes[1].end == JobOutcome::End::good);
    CHECK(asked == 1);
  }
  SECTION("waited for, and run where it was not done") {
    const JobOutcomes ended = run_jobs(jobs, {.wait = true});
    CHECK(ended.outcomes[0].end == JobOutcome::End::good);
    CHECK(ended.outcomes[1].end == JobOutcome::End::good);
    CHECK(asked == 3);
  }
  SECTION("waited for, and done by the other") {
    done = true;
    const JobOutcomes ended = run_jobs(jobs, {.wait = true});
    CHECK(ended.outcomes[0].end == JobOutcome::End::claimed);
    CHECK(asked == 3);
  }
  SECTION("until a signal comes") {
    jobs[0].claim = [&](ChildProcess::Command&) {
      if (++asked == 2) ::raise(SIGTERM);
      return Claim{.held = nullptr, .holder = "process 1 has it"};
    };
    const JobOutcomes ended = run_jobs(jobs, {.wait = true});
    CHECK(ended.signal == SIGTERM);
    CHECK(ended.outcomes[0].end == JobOutcome::End::not_run);
  }
}
