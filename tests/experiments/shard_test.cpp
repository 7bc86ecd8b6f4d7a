#include "experiments/trainings.h"

#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "base/directory_lock.h"
#include "catch.h"
#include "fake_program.h"
#include "has.h"
#include "message_of.h"

namespace roformer {
namespace {

StudyShard shard_in(const std::map<std::string, std::string>& variables) {
  return parse_shard("slurm", [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::map<std::string, std::string> array(const char* index, const char* first, const char* last,
                                         const char* count) {
  return {{"SLURM_ARRAY_TASK_ID", index},
          {"SLURM_ARRAY_TASK_MIN", first},
          {"SLURM_ARRAY_TASK_MAX", last},
          {"SLURM_ARRAY_TASK_COUNT", count}};
}

StudyOptions shard_options(const FakeProgram& fake, std::int64_t number, std::int64_t count) {
  StudyOptions options = fake_options(fake);
  options.shard = {.number = number, .count = count};
  return options;
}

}  // namespace

TEST_CASE("a shard is said in words or by a Slurm array") {
  CHECK(parse_shard("2/8").number == 2);
  CHECK(parse_shard("2/8").count == 8);
  CHECK(parse_shard("1/1").whole());
  for (const char* bad : {"", "2", "0/3", "4/3", "a/b", "1/2/3", "-1/2"}) {
    CHECK(has(message_of([&] { parse_shard(bad); }), "neither slurm nor K/N"));
  }
  CHECK(shard_in(array("3", "0", "7", "8")).number == 4);
  CHECK(shard_in(array("5", "1", "9", "3")).number == 2);
  CHECK(shard_in(array("5", "1", "9", "3")).count == 3);
  CHECK(shard_in(array("4", "4", "4", "1")).whole());
  CHECK(has(message_of([] { shard_in({}); }), "SLURM_ARRAY_TASK_ID is not set"));
  CHECK(has(message_of([] { shard_in(array("3", "1", "7", "3")); }), "not evenly spaced"));
}

TEST_CASE("shards take every run once, and the last draws the table") {
  const FakeProgram fake("rope, none, sinusoidal, learned, kerple");
  const StudyOutcome first = run_study(fake.load(), shard_options(fake, 1, 2));
  CHECK(first.waiting == 2);
  CHECK(first.rows.empty());
  CHECK_FALSE(std::filesystem::exists(fake.runs() / "report.html"));
  const StudyOutcome second = run_study(fake.load(), shard_options(fake, 2, 2));
  CHECK(second.waiting == 0);
  CHECK(second.rows.size() == 5);
  CHECK(std::filesystem::exists(fake.runs() / "report.html"));
  for (const char* run : {"rope", "none", "sinusoidal", "learned", "kerple"}) {
    CHECK(starts_of(fake, run).size() == 1);
  }
}

TEST_CASE("shards of any numbers at once run nothing twice") {
  const FakeProgram fake("rope, none, sinusoidal, learned, kerple");
  const StudySettings study = fake.load();
  std::vector<StudyOutcome> outcomes(3);
  std::vector<std::string> problems(3);
  std::vector<std::thread> threads;
  const std::vector<StudyShard> shards = {{1, 2}, {2, 2}, {1, 3}};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    threads.emplace_back([&, i] {
      problems[i] = message_of([&] {
        outcomes[i] = run_study(study, shard_options(fake, shards[i].number, shards[i].count));
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(problems == std::vector<std::string>(3, "no error"));
  for (const char* run : {"rope", "none", "sinusoidal", "learned", "kerple"}) {
    CHECK(starts_of(fake, run).size() == 1);
  }
  const StudyOutcome last = run_study(study, shard_options(fake, 2, 2));
  CHECK(last.rows.size() == 5);
}

TEST_CASE("a run that another process has is left to it") {
  const FakeProgram fake("rope, none");
  make_directories(fake.runs() / "claims" / "rope");
  auto elsewhere = std::make_unique<DirectoryLock>(fake.runs() / "claims" / "rope");
  const StudyOutcome outcome = run_study(fake.load(), shard_options(fake, 1, 2));
  CHECK(outcome.waiting == 2);
  CHECK(outcome.failed == 0);
  CHECK(starts_of(fake, "rope").empty());
  // Who draws the table of all waits for it.
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    elsewhere.reset();
  });
  const StudyOutcome whole = run_study(fake.load(), fake_options(fake));
  other.join();
  CHECK(whole.failed == 0);
  CHECK(whole.rows.size() == 2);
  CHECK(starts_of(fake, "rope").size() == 1);
}

TEST_CASE("the training of a study that was killed may still be leaving") {
  const FakeProgram fake("rope, none");
  run_study(fake.load(), fake_options(fake));
  REQUIRE(std::filesystem::remove(fake.runs() / "rope" / "summary.json"));
  auto leaving = std::make_unique<DirectoryLock>(fake.runs() / "rope");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(starts_of(fake, "rope").size() == 1);
    leaving.reset();
  });
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  other.join();
  CHECK(outcome.failed == 0);
  CHECK(starts_of(fake, "rope").size() == 2);
}

TEST_CASE("shards of a protocol share what is asked for, whatever else lies there") {
  const FakeProgram fake("rope, none, sinusoidal, learned");
  write_file_atomically(
      fake.path / "tiny.yaml",
      read_file(fake.path / "tiny.yaml") +
          "study: {metric: validation_loss, columns: [parameters], version: 1}\n");
  const StudySettings asked = fake.load({{"position", "sinusoidal,learned"}});
  run_study(asked, shard_options(fake, 1, 2));
  CHECK(starts_of(fake, "sinusoidal").size() == 1);
  run_study(fake.load({{"position", "rope"}}), fake_options(fake));  // beside them
  run_study(asked, shard_options(fake, 2, 2));
  CHECK(starts_of(fake, "learned").size() == 1);
}

TEST_CASE("of two shards that end together one draws the table") {
  const FakeProgram fake("rope");
  make_directories(fake.runs());
  const DirectoryLock other(fake.runs());
  const StudyOutcome outcome = run_study(fake.load(), shard_options(fake, 1, 2));
  CHECK(outcome.drawn_elsewhere);
  CHECK(outcome.rows.empty());
}

}  // namespace roformer
