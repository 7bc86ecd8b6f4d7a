// Studies with a program that only pretends to train: what is run, skipped, resumed and refused.
#include "experiments/study.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/directory_lock.h"
#include "catch.h"
#include "config/load.h"
#include "config/schemes/rope.h"
#include "data/dataset.h"
#include "experiments/run_result.h"
#include "fake_program.h"
#include "has.h"
#include "message_of.h"

using namespace roformer;

namespace {

using Starts = std::vector<std::string>;

}  // namespace

TEST_CASE("a run that fails or contradicts itself is a row that says so") {
  const FakeProgram fake("rope, t5, cope, none");
  const StudySettings study = fake.load();
  const StudyOutcome outcome = run_study(study, fake_options(fake));
  CHECK(outcome.failed == 1);
  CHECK(outcome.signal == 0);
  REQUIRE(outcome.rows.size() == 4);
  CHECK(outcome.rows[0].title() == "rope");  // the lowest loss first, rows without one last
  CHECK(outcome.rows[0].state() == "finished");
  CHECK(outcome.rows[1].title() == "none");
  CHECK(outcome.rows[2].title() == "t5");
  CHECK(outcome.rows[2].reasons() == "failed: exit code 1: out of luck");
  CHECK(outcome.rows[3].title() == "cope");
  CHECK(outcome.rows[3].state() == "cannot be run");
  CHECK(has(outcome.rows[3].reasons(), "cope looks only to the left"));
  CHECK(starts_of(fake, "cope").empty());
  for (const char* file : {"report.html", "table.md", "table.tex", "table.csv", "table.json"}) {
    CHECK(std::filesystem::exists(fake.runs() / file));
  }
}

TEST_CASE("what is finished is not run again, what failed is tried again") {
  const FakeProgram fake("rope, t5");
  run_study(fake.load(), fake_options(fake));
  run_study(fake.load({{"training.log_every", "7"}}), fake_options(fake));
  CHECK(starts_of(fake, "rope") == Starts{""});
  CHECK(starts_of(fake, "t5") == Starts{"", " --resume --training.log_every 7"});
}

TEST_CASE("a run that diverges is a result: a row that says so, and not tried again") {
  const FakeProgram fake("rope, deberta");
  for (int time = 0; time < 2; ++time) {
    const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
    CHECK(outcome.failed == 0);
    REQUIRE(outcome.rows.size() == 2);
    CHECK(outcome.rows[0].title() == "rope");
    CHECK(outcome.rows[1].reasons() == "diverged: the loss is nan");
    CHECK(outcome.rows[1].figures("validation_loss").empty());
  }
  CHECK(starts_of(fake, "deberta") == Starts{""});
  CHECK(study_plan(fake.load()).text(1, 1) == "diverged");
}

TEST_CASE("a damaged run is said to be that, and can be replaced") {
  const FakeProgram fake("rope, none");
  run_study(fake.load(), fake_options(fake));
  write_file_atomically(fake.runs() / "none" / "summary.json", "{");
  CHECK(has(message_of([&] { run_study(fake.load(), fake_options(fake)); }),
            "1 of 2 runs is damaged: "));
  StudyOptions options = fake_options(fake);
  options.overwrite = true;
  CHECK(run_study(fake.load(), options).failed == 0);
  CHECK(starts_of(fake, "none") == Starts{"", " --overwrite"});
}

TEST_CASE("a run whose metrics are damaged can be replaced") {
  const FakeProgram fake("rope, none");
  run_study(fake.load(), fake_options(fake));
  std::filesystem::remove(fake.runs() / "none" / "summary.json");
  write_file_atomically(fake.runs() / "none" / "metrics.jsonl", "no object\n{\"step\":1}\n");
  CHECK_THROWS_AS(run_study(fake.load(), fake_options(fake)), Error);
  StudyOptions options = fake_options(fake);
  options.overwrite = true;
  CHECK(run_study(fake.load(), options).failed == 0);
  CHECK(starts_of(fake, "none") == Starts{"", " --overwrite"});
}

TEST_CASE("a run that becomes another's before its turn is not replaced") {
  const FakeProgram fake("rope, none");
  StudySettings study = fake.load();
  // What another process trains there while this one is at its first run.
  write_file_atomically(
      fake.path / "train",
      read_file(fake.path / "train") +
          "\ncase $name in rope*) mkdir -p $(dirname $run)/none && sed "
          "'s/position: rope/position: none/; s/batch: [0-9]*/batch: 3/; "
          "s/run: .*/run: none/' $config > $(dirname $run)/none/config.yaml ;; esac\n");
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  const StudyOutcome outcome = run_study(study, fake_options(fake));
  CHECK(outcome.failed == 1);
  CHECK(has(outcome.rows.back().reasons(), "made with other settings since"));
  CHECK(starts_of(fake, "none").empty());
}

TEST_CASE("a finished run that another process replaces meanwhile has no figures") {
  const FakeProgram fake("rope, none");
  write_file_atomically(fake.path / "train",
                        read_file(fake.path / "train") +
                            "\ncase $name in none*) sed -i 's/batch: [0-9]*/batch: 3/' $(dirname "
                            "$run)/rope/config.yaml ;; "
                            "esac\n");
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed == 1);
  CHECK(has(outcome.rows.back().reasons(), "made with other settings since"));
}

TEST_CASE("a signal is passed on to the run, which saves, and the study goes on from there") {
  const FakeProgram fake("rope, alibi, none");
  std::thread sender = signal_when(fake.runs() / "alibi" / "metrics.jsonl", SIGTERM);
  const StudyOutcome stopped = run_study(fake.load(), fake_options(fake));
  sender.join();
  CHECK(stopped.signal == SIGTERM);
  CHECK(starts_of(fake, "none").empty());
  CHECK(!std::filesystem::exists(fake.runs() / "report.html"));
  const Table plan = study_plan(fake.load());
  CHECK(plan.text(0, 1) == "finished");
  CHECK(plan.text(1, 1) == "begun, 30 % done");
  CHECK(plan.text(2, 1) == "not begun");

  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed == 0);
  CHECK(starts_of(fake, "rope") == Starts{""});
  CHECK(starts_of(fake, "alibi") == Starts{"", " --resume"});
  CHECK(starts_of(fake, "none") == Starts{""});
}

TEST_CASE("runs made with other settings are refused, and replaced when that is asked for") {
  const FakeProgram fake("rope, none");
  run_study(fake.load(), fake_options(fake));
  const StudySettings longer = fake.load({{"training.steps", "200"}, {"model.layers", "2"}});
  CHECK(has(study_plan(longer).text(0, 1), "made with other settings or damaged: "));
  const std::string message = message_of([&] { run_study(longer, fake_options(fake)); });
  CHECK(has(message, "2 of 2 runs were made with other settings"));
  CHECK(has(message, "training.steps 100 -> 200"));
  CHECK(has(message, "model.layers 4 -> 2"));
  CHECK(has(message, "--overwrite"));
  CHECK(starts_of(fake, "rope") == Starts{""});

  StudyOptions options = fake_options(fake);
  options.overwrite = true;
  run_study(longer, options);
  run_study(longer, options);  // no longer others: nothing to replace
  CHECK(starts_of(fake, "rope") == Starts{"", " --overwrite"});
}

TEST_CASE("an option of one row's scheme changes no other row") {
  const FakeProgram fake("rope, none");
  run_study(fake.load(), fake_options(fake));
  // As the study's file would say it now, for all rows.
  StudySettings study = fake.load();
  for (StudyRun& row : study.runs) row.settings.position.of<RopeSettings>().base = 500;
  const std::string message = message_of([&] { run_study(study, fake_options(fake)); });
  CHECK(has(message, "1 of 2 runs was made with other settings"));
  CHECK(has(message, "position.rope.base"));
}

TEST_CASE("runs made on other data are refused, data that were only moved are the same") {
  const FakeProgram fake("rope");
  const auto folder = [&](const char* name, std::uint64_t fingerprint) {
    make_directories(fake.path / name);
    write_description({.fingerprint = fingerprint}, fake.path / name);
    return Override{"data.directory", (fake.path / name).string()};
  };
  run_study(fake.load({folder("first", 0xf00d)}), fake_options(fake));
  run_study(fake.load({folder("moved", 0xf00d)}), fake_options(fake));
  CHECK(starts_of(fake, "rope") == Starts{""});

  const auto complaint = [&](const Override& flag) {
    return message_of([&] { run_study(fake.load({flag}), fake_options(fake)); });
  };
  CHECK(has(complaint(folder("other", 0xbeef)), "data 000000000000f00d -> 000000000000beef"));
  CHECK(has(complaint(folder("first", 0xcafe)), "data 000000000000f00d -> 000000000000cafe"));
  const Override first{"data.directory", (fake.path / "first").string()};
  const Override tokens{"data.validation_tokens", "77"};
  folder("first", 0xf00d);
  CHECK(has(message_of([&] {
              run_study(fake.load({first, tokens}), fake_options(fake));
            }),
            "data.validation_tokens"));
  // Where there is no fingerprint to compare, the folder is.
  CHECK(has(complaint({"data.directory", (fake.path / "none").string()}), "data.directory"));
  std::filesystem::remove_all(fake.path / "first");
  run_study(fake.load({first}), fake_options(fake));  // the trainings outlive their data
  CHECK(starts_of(fake, "rope") == Starts{""});
}

TEST_CASE("runs from other sources, rates and averages are refused as well") {
  const FakeProgram fake("rope");
  for (const char* name : {"data", "more", "other"}) {
    make_directories(fake.path / name);
    write_description({.fingerprint = name == std::string("other") ? 7u : 0xf00du},
                      fake.path / name);
  }
  const Override data{"data.directory", (fake.path / "data").string()};
  run_study(fake.load({data}), fake_options(fake));
  // As a training writes it.
  write_file_atomically(fake.runs() / "rope" / "run.json",
                        R"({"data":{"fingerprint":"000000000000f00d","source_fingerprints":[]}})");
  const auto complaint = [&](const Override& flag) {
    return message_of([&] { run_study(fake.load({data, flag}), fake_options(fake)); });
  };
  CHECK(has(complaint({"training.ema", "0.9"}), "training.ema 0 -> 0.9"));
  CHECK(
      has(complaint({"training.initial_learning_rate", "1e-5"}), "training.initial_learning_rate"));
  CHECK(has(complaint({"data.sources", "[{directory: " + (fake.path / "other").string() + "}]"}),
            "sources of the data none -> 0000000000000007 x 1"));
}

TEST_CASE("translations' and matchers' data are told by their fingerprints") {
  const FakeProgram fake("rope");
  const auto triplets = [&](const char* text) {
    make_directories(fake.path / "triplets");
    for (const char* split : {"train.jsonl", "validation.jsonl"}) {
      write_file_atomically(fake.path / "triplets" / split,
                            std::string("{\"A\":\"a\",\"B\":\"b\",\"C\":\"") + text + "\"}\n");
    }
  };
  triplets("c");
  Settings settings = default_settings(
      {{"task", "matching"}, {"data.directory", (fake.path / "triplets").string()}});
  const nlohmann::json before = data_today(settings);
  REQUIRE(before.contains("fingerprint"));
  CHECK(data_today(settings) == before);
  triplets("d");
  const nlohmann::json after = data_today(settings);
  CHECK(after["fingerprint"] != before["fingerprint"]);
  CHECK(after["validation_fingerprint"] != before["validation_fingerprint"]);
  CHECK_FALSE(after.contains("test_fingerprint"));
  write_file_atomically(fake.path / "triplets" / "test.jsonl",
                        "{\"A\":\"a\",\"B\":\"b\",\"C\":\"c\"}\n");
  CHECK(data_today(settings).contains("test_fingerprint"));
  settings.data.directory = fake.path / "nowhere";
  CHECK(data_today(settings).is_null());
}

TEST_CASE("several runs at a time come to the same") {
  const FakeProgram fake("rope, sinusoidal, learned, none");
  StudyOptions options = fake_options(fake);
  options.parallel = 3;
  options.order = StudyOrder::file;
  const StudyOutcome outcome = run_study(fake.load(), options);
  REQUIRE(outcome.rows.size() == 4);
  CHECK(outcome.rows[1].title() == "sinusoidal");
  for (const StudyRow& row : outcome.rows) CHECK(row.finished());
}

TEST_CASE("a program that cannot be started and one that is killed say so") {
  const FakeProgram fake("rope");
  StudyOptions options = fake_options(fake);
  options.program = (fake.path / "nothing").string();
  const std::string missing = run_study(fake.load(), options).rows[0].reasons();
  CHECK(has(missing, "cannot be started: No such file"));
  write_file_atomically(fake.path / "train", "#!/bin/sh\necho step 5\nkill -9 $$\n");
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  const std::string killed = run_study(fake.load(), fake_options(fake)).rows[0].reasons();
  CHECK(killed == "failed: killed by signal 9 (Killed): step 5");
}

TEST_CASE("a subset of a study does not take the place of its report") {
  const FakeProgram fake("rope, none");
  run_study(fake.load(), fake_options(fake));
  const std::string report = read_file(fake.runs() / "table.json");
  StudySettings one = fake.load({{"position", "rope"}});
  CHECK(has(message_of([&] { run_study(one, fake_options(fake)); }), "leave out: none"));
  CHECK(read_file(fake.runs() / "table.json") == report);
  CHECK_NOTHROW(run_study(fake.load({{"position", "rope,none,t5"}}), fake_options(fake)));
}

TEST_CASE("two studies in one folder are refused") {
  const FakeProgram fake("rope");
  make_directories(fake.runs());
  const DirectoryLock lock(fake.runs());
  CHECK(has(message_of([&] { run_study(fake.load(), fake_options(fake)); }), fake.runs().string()));
}

TEST_CASE("a study that would write through a link in its folder is refused before anything runs") {
  const FakeProgram fake("rope, none");
  std::filesystem::create_directories(fake.runs());
  write_file_atomically(fake.path / "thesis.txt", "mine");
  const std::string name = GENERATE(
      ".lock", "logs/rope.txt", "configs/rope.yaml", "configs/rope.yaml.partial", "claims",
      "claims/rope/.lock", "table.md", "table.tex", "table.csv", "table.json", "report.html");
  const std::filesystem::path link = fake.runs() / name;
  std::filesystem::create_directories(link.parent_path());
  write_file_atomically(fake.runs() / "table.md", "");  // a study's
  std::filesystem::remove(link);
  std::filesystem::create_symlink(fake.path / "thesis.txt", link);
  CHECK(has(message_of([&] { run_study(fake.load(), fake_options(fake)); }),
            link.string() + ": is a link to"));
  CHECK(read_file(fake.path / "thesis.txt") == "mine");
  CHECK_FALSE(std::filesystem::exists(fake.runs() / "rope"));
}

TEST_CASE("a study does not train into a folder that its own folder only links to") {
  const FakeProgram fake("rope, none");
  std::filesystem::create_directories(fake.path / "letters");
  std::filesystem::create_directories(fake.runs() / "logs");
  std::filesystem::create_symlink(fake.path / "letters", fake.runs() / "rope");
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.rows[0].finished());
  CHECK(has(outcome.rows[1].reasons(), "is a link to"));
  CHECK(std::filesystem::is_empty(fake.path / "letters"));
}

TEST_CASE("a study takes neither the folder of a run nor somebody's") {
  const FakeProgram fake("rope");
  std::filesystem::create_directories(fake.runs());
  write_file_atomically(fake.runs() / "note.txt", "mine");
  CHECK(has(message_of([&] { run_study(fake.load(), fake_options(fake)); }),
            "is neither empty nor a study's"));
  std::filesystem::remove(fake.runs() / "note.txt");
  write_file_atomically(fake.runs() / "config.yaml", "task: mlm\n");
  CHECK(has(message_of([&] { run_study(fake.load(), fake_options(fake)); }), "holds a run"));
  CHECK_FALSE(std::filesystem::exists(fake.runs() / "report.html"));
}
