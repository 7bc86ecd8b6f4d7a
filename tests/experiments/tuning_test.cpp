// Recipes that are chosen beforehand, row by row, with a program that only pretends to train.
#include "experiments/tuning.h"

#include <algorithm>

#include "catch.h"
#include "config/load.h"
#include "experiments/made_record.h"
#include "experiments/record.h"
#include "experiments/records_page.h"
#include "experiments/study_results.h"
#include "fake_program.h"
#include "has.h"
#include "message_of.h"

using namespace roformer;

namespace {

// rope does best at 1e-3 and none at the greatest rate; t5 fails at every one.
struct TunedStudy : FakeProgram {
  explicit TunedStudy(const std::string& positions) : FakeProgram(positions) {
    write_file_atomically(path / "tiny.yaml",
                          read_file(path / "tiny.yaml") +
                              "  seed: [1, 2]\n"
                              "tune:\n"
                              "  values: {training.learning_rate: [5e-4, 1e-3, 2e-3]}\n"
                              "  with: {seed: 1001, training.steps: 50}\n");
    std::string train = kFakeTrain;
    const std::string before = "case $name in rope*)";
    train.replace(train.find(before), before.size(),
                  "case $name in *learning_rate*) seed=1 ;; esac\n"
                  "case $name in rope-learning_rate1e-3|none-learning_rate2e-3) first=2 ;; rope*)");
    write_file_atomically(path / "train", train);
    std::filesystem::permissions(path / "train", std::filesystem::perms::owner_all);
  }
  double rate(const StudySettings& study, const std::string& name) const {
    return std::find_if(study.runs.begin(), study.runs.end(),
                        [&](const StudyRun& run) { return run.name == name; })
        ->settings.training.learning_rate;
  }
};

}  // namespace

TEST_CASE("each row is trained with the values that did best for it with another seed") {
  const TunedStudy fake("rope, none");
  const StudySettings study = fake.load();
  REQUIRE(study.tuning);
  REQUIRE(study.tuning->study->runs.size() == 6);
  const StudyRun& trial = study.tuning->study->runs[1];
  CHECK(trial.name == "rope-learning_rate1e-3");
  CHECK(trial.settings.seed == 1001);
  CHECK(trial.settings.training.steps.amount == 50);
  CHECK(trial.settings.runs == fake.runs() / "tuning");
  CHECK(has(to_text(study_plan(study)), "waits for the tuning"));

  const StudyOutcome outcome = run_study(study, fake_options(fake));
  CHECK(outcome.failed == 0);
  CHECK(fake.rate(outcome.study, "rope-seed1") == 1e-3);
  CHECK(fake.rate(outcome.study, "rope-seed2") == 1e-3);
  CHECK(fake.rate(outcome.study, "none-seed2") == 2e-3);
  CHECK(load_settings(fake.runs() / "none-seed1" / "config.yaml").training.learning_rate == 2e-3);
  CHECK(load_settings(fake.runs() / "none-seed1" / "config.yaml").training.steps.amount == 100);
  CHECK(outcome.rows.front().runs.size() == 2);  // the tuning's are in no row
  REQUIRE(outcome.tuning);
  const std::string tuned = to_markdown(tuning_table(*outcome.study.tuning, *outcome.tuning));
  CHECK(has(tuned, "| rope | 3.100 | 2.100 | 3.100 | 1e-3 |"));
  CHECK(has(tuned, "| none | 4.100 | 4.100 | 2.100 | 2e-3, the edge of what was tried |"));
  CHECK(has(read_file(outcome.report), "What was tuned"));
  CHECK(has(read_file(fake.runs() / "table.md"), "| rope | 1e-3 |"));
  CHECK(has(to_text(study_plan(study)), "tuning/none-learning_rate2e-3"));
  CHECK_FALSE(has(to_text(study_plan(study)), "waits"));

  SECTION("once") {
    const StudyOutcome again = run_study(study, fake_options(fake));
    CHECK(again.rows.size() == 2);
    CHECK(starts_of(fake, "tuning/rope-learning_rate1e-3").size() == 1);
    CHECK(starts_of(fake, "rope-seed1").size() == 1);
  }
  SECTION("and the record has what was tried") {
    write_study_record(fake.path / "r.json", fake.path / "tiny.yaml", outcome.study, outcome, {});
    CHECK(to_markdown(recorded_table(fake.path / "r.json", "tuning")) == tuned);
    CHECK(has(read_file(fake.path / "r.json"), "rope-learning_rate5e-4"));
  }
  SECTION("a choice that changes is not taken for what was trained before") {
    std::string text = read_file(fake.path / "tiny.yaml");
    write_file_atomically(fake.path / "tiny.yaml",
                          text.replace(text.find("[5e-4, 1e-3, 2e-3]"), 18, "[5e-4]"));
    CHECK_THROWS_AS(run_study(fake.load(), fake_options(fake)), Error);
  }
}

TEST_CASE("a search goes on while the best value is at the edge of what was tried") {
  const TunedStudy fake("rope, none");
  const std::string text = read_file(fake.path / "tiny.yaml");
  const auto load = [&](const std::string& values, const std::string& start) {
    std::string changed = text;
    write_file_atomically(
        fake.path / "tiny.yaml",
        changed.replace(changed.find("{training.learning_rate: [5e-4, 1e-3, 2e-3]}"), 44,
                        "{training.learning_rate: [" + values + "]}\n  start: [" + start + "]"));
    return fake.load();
  };
  const StudySettings study = load("2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3", "5e-4, 1e-3, 2e-3");
  CHECK_FALSE(has(to_text(study_plan(study)), "learning_rate4e-3"));
  const StudyOutcome outcome = run_study(study, fake_options(fake));
  CHECK(outcome.failed == 0);
  CHECK(fake.rate(outcome.study, "rope-seed1") == 1e-3);
  CHECK(fake.rate(outcome.study, "none-seed2") == 2e-3);
  CHECK(starts_of(fake, "tuning/rope-learning_rate4e-3").empty());
  CHECK(starts_of(fake, "tuning/none-learning_rate4e-3").size() == 1);  // beyond its best of three
  CHECK(starts_of(fake, "tuning/none-learning_rate8e-3").empty());
  CHECK(starts_of(fake, "tuning/none-learning_rate2.5e-4").empty());
  REQUIRE(outcome.tuning);
  const std::string tuned = to_markdown(tuning_table(*outcome.study.tuning, *outcome.tuning));
  CHECK(has(tuned, "| none | 4.100 | 4.100 | 2.100 | 4.100 | 2e-3 |"));
  CHECK_FALSE(has(tuned, "edge"));
  CHECK_FALSE(has(to_text(study_plan(study)), "waits"));
  CHECK(fake.rate(as_chosen(study), "none-seed1") == 2e-3);
  CHECK(run_study(study, fake_options(fake)).failed == 0);
  CHECK(starts_of(fake, "tuning/none-learning_rate4e-3").size() == 1);
}

TEST_CASE("a search whose first values all diverge goes on below them") {
  const TunedStudy fake("rope, deberta");
  std::string text = read_file(fake.path / "tiny.yaml");
  write_file_atomically(
      fake.path / "tiny.yaml",
      text.replace(text.find("{training.learning_rate: [5e-4, 1e-3, 2e-3]}"), 44,
                   "{training.learning_rate: [5e-4, 1e-3, 2e-3, 4e-3]}\n  start: [1e-3, 2e-3]"));
  run_study(fake.load(), fake_options(fake));
  CHECK(starts_of(fake, "tuning/deberta-learning_rate5e-4").size() == 1);
  CHECK(starts_of(fake, "tuning/deberta-learning_rate4e-3").empty());
}

TEST_CASE("values to start a search with are a part of one key's values") {
  const std::string start = GENERATE("[3e-3]", "[2e-3, 1e-3]", "[5e-4, 2e-3]");
  const TunedStudy fake("rope, none");
  write_file_atomically(fake.path / "tiny.yaml",
                        read_file(fake.path / "tiny.yaml") + "  start: " + start + "\n");
  CHECK(has(message_of([&] { fake.load(); }), "tune.start"));
}

namespace {

// The first attempt of the trial with the middle rate ends as `how`, a shell command, says.
void fail_once(const TunedStudy& fake, const std::string& how) {
  std::string train = read_file(fake.path / "train");
  const std::string shell = "#!/bin/sh\n";
  write_file_atomically(fake.path / "train", shell +
                                                 "case $2 in *rope-learning_rate1e-3.yaml)\n"
                                                 "  [ -e \"$0.again\" ] || { touch \"$0.again\"; " +
                                                 how +
                                                 "; } ;;\n"
                                                 "esac\n" +
                                                 train.substr(shell.size()));
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("nothing is chosen for a row while a training of its tuning was killed or failed") {
  const auto [how, reason] = GENERATE(table<std::string, std::string>(
      {{"kill -9 $$", "killed by signal 9"}, {"echo 'error: no space' >&2; exit 1", "no space"}}));
  const TunedStudy fake("rope, none");
  fail_once(fake, how);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_trials == 1);
  REQUIRE(outcome.rows.size() == 2);
  CHECK(outcome.rows[0].title() == "none");
  CHECK(outcome.rows[1].state() == "cannot be run");
  CHECK(has(outcome.rows[1].reasons(), "rope-learning_rate1e-3"));
  CHECK(has(outcome.rows[1].reasons(), reason));
  CHECK(starts_of(fake, "rope-seed1").empty());

  const StudyOutcome again = run_study(fake.load(), fake_options(fake));
  CHECK(again.failed == 0);
  CHECK(fake.rate(again.study, "rope-seed1") == 1e-3);
  CHECK(starts_of(fake, "none-seed1").size() == 1);
}

TEST_CASE("a shard tells of its trials that failed while others are not finished") {
  const TunedStudy fake("rope, none");
  fail_once(fake, "exit 1");
  StudyOptions options = fake_options(fake);
  options.shard = {.number = 2, .count = 2};
  const StudyOutcome outcome = run_study(fake.load(), options);
  REQUIRE(outcome.waits_for_tuning);
  CHECK(outcome.failed_trials == 1);
}

TEST_CASE("a row whose tuning came to nothing is not trained and says why") {
  const TunedStudy fake("rope, t5");
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_trials == 3);
  REQUIRE(outcome.rows.size() == 2);
  CHECK(outcome.rows[1].state() == "cannot be run");
  CHECK(has(outcome.rows[1].reasons(), "a training of its tuning failed: t5-learning_rate"));
  CHECK(starts_of(fake, "t5-seed1").empty());
}

namespace {

// A protocol whose trials another machine may have made: `record` as tune.record, or "".
struct TunedProtocol : Protocol {
  explicit TunedProtocol(const std::string& record) {
    fake_program_of(*this);
    write_file_atomically(path / "tiny.yaml",
                          read_file(path / "tiny.yaml") +
                              "tune: {values: {training.learning_rate: [1e-3, 2e-3]}, "
                              "with: {seed: 7}" +
                              (record.empty() ? "" : ", record: " + record) + "}\n");
  }
};

}  // namespace

TEST_CASE("trials that a record holds are not made again") {
  const TunedProtocol first("");
  const StudyOutcome made =
      run_study(first.load({{"position", "rope,none"}, {"seed", "1"}}), fake_options(first));
  const std::filesystem::path record = first.path / "record.json";
  write_study_record(record, first.path / "tiny.yaml", made.study, made, {});

  const TunedProtocol fake(record.string());
  const auto tried = [&](const std::string& name) {
    return starts_of(fake, "tuning/" + name + "-learning_rate1e-3").size();
  };
  SECTION("of the same recipe") {
    const StudySettings study = fake.load({{"position", "rope"}, {"seed", "2"}});
    CHECK(has(to_text(study_plan(study)), "recorded in"));
    CHECK_FALSE(has(to_text(study_plan(study)), "waits"));
    const StudyOutcome outcome = run_study(study, fake_options(fake));
    CHECK(tried("rope") == 0);
    REQUIRE(outcome.tuning);
    CHECK(outcome.tuning->choices.size() == 1);  // none is recorded, too, and has no run here
    REQUIRE(outcome.rows.size() == 1);
    CHECK(has(to_markdown(tuning_table(*outcome.study.tuning, *outcome.tuning)),
              "| rope | 3.100 | 3.100 | 1e-3 |"));
    // The new seed goes into the row of the old one.
    const std::filesystem::path own = fake.path / "own.json";
    write_study_record(own, fake.path / "tiny.yaml", outcome.study, outcome, {});
    std::vector<ProtocolRecord> records;
    for (const auto& file : {record, own}) {
      records.push_back(read_protocol_record(read_record(file), file));
    }
    CHECK(records[1].trials.size() == 2);
    const MergedTable merged = merge_records(records).front();
    CHECK(merged.apart.empty());
    CHECK(merged.rows[0].runs.size() == 2);
    // A row that the record lacks is tuned here, and the other keeps its place.
    const StudyOutcome more =
        run_study(fake.load({{"position", "sinusoidal"}, {"seed", "2"}}), fake_options(fake));
    CHECK(tried("sinusoidal") == 1);
    CHECK(tried("rope") == 0);
    CHECK(more.rows.size() == 2);
  }
  SECTION("of another recipe they are") {
    run_study(fake.load({{"position", "rope"}, {"seed", "2"}, {"training.clip", "2"}}),
              fake_options(fake));
    CHECK(tried("rope") == 1);
    // They and their row are in nobody's way.
    const StudyOutcome other =
        run_study(fake.load({{"position", "none"}, {"seed", "2"}}), fake_options(fake));
    CHECK(other.failed + other.failed_trials == 0);
    REQUIRE(other.rows.size() == 1);
    CHECK(other.rows[0].title() == "none");
    CHECK(tried("none") == 0);
  }
  SECTION("of other options of the scheme, too") {
    run_study(fake.load({{"position", "rope,none"}, {"seed", "2"}, {"position.rope.base", "500"}}),
              fake_options(fake));
    CHECK(tried("rope") == 1);
    CHECK(tried("none") == 0);
  }
}

TEST_CASE("the record of a tuning is there, and of a protocol") {
  const TunedProtocol fake("nowhere.json");
  CHECK(has(message_of([&] { fake.load(); }), "nowhere.json is not there"));
  FakeProgram plain("rope, none");
  write_file_atomically(plain.path / "record.json", "{}");
  write_file_atomically(plain.path / "tiny.yaml",
                        read_file(plain.path / "tiny.yaml") +
                            "tune: {values: {training.learning_rate: [1e-3, 2e-3]}, "
                            "with: {seed: 7}, record: record.json}\n");
  CHECK(has(message_of([&] { plain.load(); }), "is of protocols"));
}
