// Evaluations at several lengths, with a program that only pretends to train and to evaluate.
#include "experiments/evaluations.h"

#include <chrono>
#include <csignal>
#include <memory>
#include <sstream>
#include <thread>

#include "base/directory_lock.h"
#include "catch.h"
#include "experiments/difference_table.h"
#include "experiments/length_report.h"
#include "experiments/study_rows.h"
#include "fake_program.h"
#include "has.h"

using namespace roformer;

namespace {

// What `roformer evaluate` leaves; its loss is the length and a half. A training leaves a
// checkpoint of its last step; sinusoidal keeps only an earlier one and shaw none.
constexpr const char* kFakeEvaluate = R"script(
if [ "$1" = evaluate ]; then
  run=$2; all="$*"
  length=$(echo "$all" | sed 's/.*--length \([0-9]*\).*/\1/')
  echo "$all" | sed 's/.*--checkpoint/--checkpoint/; s/ --length.*//' >> "$run/chosen"
  echo "$all" | sed 's/ --output.*//; s/.*--length/--length/' >> "$run/evaluations"
  while [ "$1" != --output ]; do shift; done
  printf '{"evaluations":[{"loss":%s.5,"loss_standard_error":0.1,"accuracy":0.5,"targets":2,"tokens":9,' "$length" > "$2"
  case $run in */rope*) sums=1,2,1 ;; *) sums=2,4,3 ;; esac
  printf '"losses_by_position":[null,1,2],"targets_by_position":[0,1,1],' >> "$2"
  case $run in */rope-seed1) targets=00000000000000ff ;; *) targets=00000000deadbeef ;; esac
  printf '"loss_sums_by_row":[%s],"targets_by_row":[1,2,1],' "$sums" >> "$2"
  printf '"targets_fingerprint":"%s"}]}' "$targets" >> "$2"
  exit 0
fi
case $2 in *.yaml)
  run=$(dirname "$(dirname "$2")")/$(basename "$2" .yaml)
  step=00000100
  case $run in */sinusoidal) step=00000050 ;; esac
  case $run in */shaw) ;; *)
    mkdir -p "$run/checkpoints/step-$step"
    cp "$2" "$run/checkpoints/step-$step/config.yaml"
    cp "$(dirname "$0")/state.json" "$run/checkpoints/step-$step/state.json" ;;
  esac ;;
esac
)script";

struct EvaluatedStudy : FakeProgram {
  explicit EvaluatedStudy(const std::string& positions, const std::string& evaluate)
      : FakeProgram(positions) {
    write_file_atomically(path / "tiny.yaml", read_file(path / "tiny.yaml") + evaluate);
    write_file_atomically(path / "state.json", read_file(FIXTURES "/../training/state.json"));
    const std::string train = kFakeTrain, shell = "#!/bin/sh\n";
    write_file_atomically(path / "train", shell + kFakeEvaluate + train.substr(shell.size()));
    std::filesystem::permissions(path / "train", std::filesystem::perms::owner_all);
  }
  std::vector<std::string> evaluations(const std::string& run,
                                       const char* file = "evaluations") const {
    std::vector<std::string> lines;
    std::istringstream text(read_file(runs() / run / file));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

constexpr const char* kPlan =
    "position: {learned: {length: 200}}\n"
    "evaluate:\n"
    "  lengths: [128, 256]\n"
    "  variants:\n"
    "    - {name: linear, scheme: rope, position.rope.scaling: linear, stretch: "
    "position.rope.factor}\n"
    "    - {name: window, attention.window: 64}\n";

}  // namespace

TEST_CASE("what was trained is evaluated at every length, once, and with its variants") {
  const EvaluatedStudy fake("rope, none", kPlan);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_evaluations == 0);
  std::vector<std::string> titles;
  for (const LengthRow& row : outcome.lengths) titles.push_back(row.title);
  CHECK(titles ==
        std::vector<std::string>{"rope", "none", "rope, linear", "rope, window", "none, window"});
  CHECK(outcome.lengths[0].cells[1].runs.begin()->second.loss == 256.5);
  const std::vector<std::string> wanted{
      "--length 128",
      "--length 256",
      "--length 128 --position.rope.scaling linear --position.rope.factor 1",
      "--length 256 --position.rope.scaling linear --position.rope.factor 2",
      "--length 128 --attention.window 64",
      "--length 256 --attention.window 64"};
  CHECK(fake.evaluations("rope") == wanted);
  CHECK(std::filesystem::exists(fake.runs() / "lengths.csv"));
  // The charts: models as trained by length and by position, rope with its variants, none with its.
  CHECK(length_charts(outcome.lengths, 128).size() == 6);

  run_study(fake.load(), fake_options(fake));
  CHECK(fake.evaluations("rope") == wanted);
}

TEST_CASE("a run is evaluated when it is trained, so that a study that is stopped has it whole") {
  const EvaluatedStudy fake("rope, alibi, none", kPlan);
  const StudyOptions options = fake_options(fake);
  std::thread sender = signal_when(fake.runs() / "alibi" / "metrics.jsonl", SIGTERM);
  const StudyOutcome stopped = run_study(fake.load(), options);
  sender.join();
  CHECK(stopped.signal == SIGTERM);
  CHECK(fake.evaluations("rope").size() == 6);
  CHECK(starts_of(fake, "none").empty());

  const StudyOutcome outcome = run_study(fake.load(), options);
  CHECK(outcome.failed_evaluations == 0);
  CHECK(fake.evaluations("rope").size() == 6);
  CHECK(fake.evaluations("none").size() == 4);
}

TEST_CASE("shards evaluate what they train, each length once, and the last draws the table") {
  const EvaluatedStudy fake("rope, none, sinusoidal", kPlan);
  const StudySettings study = fake.load();
  const auto shard = [&](std::int64_t number) {
    StudyOptions options = fake_options(fake);
    options.shard = {.number = number, .count = 2};
    return run_study(study, options);
  };
  CHECK(shard(1).rows.empty());
  CHECK(fake.evaluations("rope").size() == 6);
  CHECK(fake.evaluations("sinusoidal").size() == 4);
  const StudyOutcome last = shard(2);
  CHECK(last.failed_evaluations == 0);
  CHECK(last.lengths.size() == 7);
  CHECK(fake.evaluations("none").size() == 4);
  CHECK(fake.evaluations("rope").size() == 6);
}

TEST_CASE("an evaluation that another process is at is waited for") {
  const EvaluatedStudy fake("rope, none", "evaluate: {lengths: [128]}\n");
  run_study(fake.load(), fake_options(fake));
  const std::filesystem::path folder = fake.runs() / "evaluations";
  std::filesystem::path stored;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rope-128") && name.ends_with(".json")) stored = entry.path();
  }
  REQUIRE(std::filesystem::remove(stored));
  auto elsewhere = std::make_unique<DirectoryLock>(folder / "claims" / stored.stem());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(fake.evaluations("rope").size() == 1);
    elsewhere.reset();  // it was killed: what it had begun is made here
  });
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  other.join();
  CHECK(outcome.failed_evaluations == 0);
  CHECK(outcome.lengths[0].cells[0].runs.size() == 1);
  CHECK(fake.evaluations("rope").size() == 2);
}

TEST_CASE("an evaluation that failed is not tried twice in a command") {
  EvaluatedStudy fake("rope", "evaluate: {lengths: [128]}\n");
  const std::string script = read_file(fake.path / "train");
  const std::string marker = "run=$2; all=\"$*\"";
  std::string broken = script;
  broken.replace(broken.find(marker), marker.size(), "echo once >> $2/tried; exit 3");
  write_file_atomically(fake.path / "train", broken);
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_evaluations == 1);
  CHECK(has(outcome.lengths[0].cells[0].reason, "exit code 3"));
  CHECK(fake.evaluations("rope", "tried").size() == 1);
}

TEST_CASE("lengths of the test set are figures of the runs, by which rows are ranked") {
  const EvaluatedStudy fake("sinusoidal, rope",
                            "  seed: [1, 2]\nstudy: {metric: test_loss, columns: "
                            "[test_loss_at_length_256]}\n"
                            "evaluate: {split: test, lengths: [128, 256]}\n");
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_evaluations == 0);
  REQUIRE(outcome.rows.size() == 2);
  CHECK(outcome.rows[1].runs[1].figures.at("test_loss") == 128.5);
  CHECK(outcome.rows[1].runs[1].figures.at("test_loss_at_length_256") == 256.5);
  CHECK(outcome.rows[1].runs[1].figures.at("test_loss_standard_error") == 0.1);
  CHECK(fake.evaluations("rope-seed1") ==
        std::vector<std::string>{"--length 128 --split test", "--length 256 --split test"});
  CHECK(to_csv(study_table(outcome.study, outcome.rows, TableUse::data)).find("256.5") !=
        std::string::npos);
  CHECK_FALSE(outcome.rows[0].runs[0].figures.contains("test_loss_less_reference"));
}

TEST_CASE("a row of one seed is compared with the reference on the same targets") {
  const EvaluatedStudy fake("sinusoidal, rope",
                            "  seed: [1, 2]\n"
                            "study: {metric: test_loss, version: 1, reference: rope}\n"
                            "evaluate: {split: test, lengths: [128]}\n");
  run_study(fake.load({{"position", "rope"}}), fake_options(fake));
  const StudyOutcome outcome =
      run_study(fake.load({{"position", "sinusoidal"}, {"seed", "2"}}), fake_options(fake));
  REQUIRE(outcome.rows.size() == 2);
  const Table table = target_difference_table(outcome.study, outcome.rows);
  REQUIRE(table.rows().size() == 1);
  CHECK(table.text(0, 0) == "sinusoidal");
  CHECK(table.text(0, 1) == "rope");
  CHECK(table.text(0, 2) == "1.250");  // (1 + 2 + 2) / 4 targets
  // 95 % of Student's distribution with three rows of text, not of the normal one.
  const double error =
      outcome.rows[0].runs[0].figures.contains("test_loss_less_reference")
          ? outcome.rows[0].runs[0].figures.at("test_loss_less_reference_standard_error")
          : outcome.rows[1].runs[0].figures.at("test_loss_less_reference_standard_error");
  CHECK(cell_value(table.rows()[0][3]) == Approx(1.25 - 4.30265 * error).epsilon(1e-3));
  CHECK(difference_table(outcome.study, outcome.rows).rows().empty());
}

TEST_CASE("losses of other targets are not subtracted") {
  const EvaluatedStudy fake("sinusoidal, rope",
                            "  seed: [1, 2]\n"
                            "study: {metric: test_loss, version: 1, reference: rope}\n"
                            "evaluate: {split: test, lengths: [128]}\n");
  run_study(fake.load({{"position", "rope"}}), fake_options(fake));
  const StudyOutcome outcome =
      run_study(fake.load({{"position", "sinusoidal"}, {"seed", "1"}}), fake_options(fake));
  REQUIRE(outcome.rows.size() == 2);
  CHECK(target_difference_table(outcome.study, outcome.rows).rows().empty());
}

TEST_CASE("a formula with trained parameters is evaluated as any other scheme") {
  EvaluatedStudy fake("none", "evaluate: {lengths: [128]}\n");
  std::string text = read_file(fake.path / "tiny.yaml");
  const std::string formula =
      "{formula: {bias: '-slope[h]*abs(i-j)', parameters: '{slope: {per: head, initial: 1}}'}}";
  text.replace(text.find("[none]"), 6, "[none, " + formula + "]");
  write_file_atomically(fake.path / "tiny.yaml", text);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(missing_lengths(outcome.lengths).rows().empty());
  CHECK(outcome.lengths.size() == 2);
}

TEST_CASE("what cannot be evaluated is a cell with its reason") {
  const EvaluatedStudy fake("learned, t5, cope", kPlan);
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  const Table missing = missing_lengths(outcome.lengths);
  std::string text = to_csv(missing);
  CHECK(text.find("learned,256,256 tokens do not fit the 200 positions that learned has") !=
        std::string::npos);
  CHECK(text.find("cope,all,") != std::string::npos);  // an encoder, and cope looks to the left
  CHECK(text.find("t5,all,") != std::string::npos);    // its training fails
  CHECK(length_table(outcome.lengths, 128).text(0, 2) == "–");
  // A training that works and an evaluation that does not.
  const EvaluatedStudy other("none", "evaluate: {lengths: [128]}\n");
  write_file_atomically(other.path / "train",
                        std::string("#!/bin/sh\n[ \"$1\" = evaluate ] && { echo no; exit 1; }\n") +
                            kFakeEvaluate + std::string(kFakeTrain).substr(10));
  std::filesystem::permissions(other.path / "train", std::filesystem::perms::owner_all);
  const StudyOutcome failed = run_study(other.load(), fake_options(other));
  CHECK(failed.failed_evaluations == 1);
  CHECK(failed.lengths[0].cells[0].reason == "failed: exit code 1: no");
}

TEST_CASE("a misspelt value of a variant is refused before anything is trained") {
  const EvaluatedStudy fake("rope, alibi",
                            "evaluate:\n  lengths: [128]\n"
                            "  variants: [{name: yarn, scheme: rope, position.scaling: yran}]\n");
  CHECK_THROWS_WITH(run_study(fake.load(), fake_options(fake)),
                    Catch::Contains("evaluate.variants, yarn: ") && Catch::Contains("yran"));
  CHECK(starts_of(fake, "rope").empty());
}

TEST_CASE("a study may take the trainings of another") {
  const EvaluatedStudy fake("rope", kPlan);
  run_study(fake.load(), fake_options(fake));
  write_file_atomically(fake.path / "more.yaml",
                        "extends: tiny.yaml\nstudy: {trainings: tiny}\n"
                        "evaluate: {lengths: [512]}\n");
  const StudyOutcome outcome = run_study(load_study(fake.path / "more.yaml"), fake_options(fake));
  CHECK(starts_of(fake, "rope").size() == 1);
  CHECK(outcome.lengths.at(0).cells.at(0).runs.begin()->second.loss == 512.5);
  CHECK(outcome.report == fake.path / "runs" / "more" / "report.html");
}

TEST_CASE("a run without a checkpoint is a reason, and the trainings have their report") {
  const EvaluatedStudy fake("none, shaw", "evaluate: {lengths: [128]}\n");
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(outcome.failed_evaluations == 0);
  REQUIRE(outcome.lengths.size() == 2);
  CHECK(outcome.lengths[0].cells[0].runs.size() == 1);
  CHECK(has(outcome.lengths[1].cells[0].reason, "shaw: holds no checkpoint"));
  CHECK(has(read_file(fake.runs() / "table.md"), "shaw"));
  CHECK(has(read_file(outcome.report), "holds no checkpoint"));
}

TEST_CASE("the report of the trainings is there even where no evaluation can be stored") {
  const EvaluatedStudy fake("none", "evaluate: {lengths: [128]}\n");
  make_directories(fake.runs());
  write_file_atomically(fake.runs() / "evaluations", "a file where a folder is wanted");
  CHECK_THROWS(run_study(fake.load(), fake_options(fake)));
  CHECK(has(read_file(fake.runs() / "table.md"), "none"));
}

TEST_CASE("the weights that are evaluated are those of the figures where they are kept") {
  const EvaluatedStudy fake("none, sinusoidal", "evaluate: {lengths: [128]}\n");
  const StudyOutcome outcome = run_study(fake.load(), fake_options(fake));
  CHECK(fake.evaluations("none", "chosen") == std::vector<std::string>{"--checkpoint last"});
  CHECK(fake.evaluations("sinusoidal", "chosen") == std::vector<std::string>{"--checkpoint best"});
  const std::string sentence = "Weights of the last checkpoint of none; of the best of sinusoidal.";
  CHECK(weights_sentence(outcome.lengths) == sentence);
  CHECK(has(read_file(outcome.report), sentence));
  CHECK(has(read_file(fake.runs() / "table.md"), sentence));
  const EvaluatedStudy other("none", "evaluate: {lengths: [128]}\n");
  CHECK(weights_sentence(run_study(other.load(), fake_options(other)).lengths) ==
        "Weights of the last checkpoint.");
}

TEST_CASE("a stored evaluation that is damaged, or of other data, is made again") {
  const EvaluatedStudy fake("none", "evaluate: {lengths: [128]}\n");
  run_study(fake.load(), fake_options(fake));
  for (const auto& entry : std::filesystem::directory_iterator(fake.runs() / "evaluations")) {
    if (entry.path().extension() == ".json") write_file_atomically(entry.path(), "{\"evalu");
  }
  const StudyOutcome again = run_study(fake.load(), fake_options(fake));
  CHECK(again.failed_evaluations == 0);
  CHECK(again.lengths.at(0).cells.at(0).runs.begin()->second.loss == 128.5);
  CHECK(fake.evaluations("none").size() == 2);
  run_study(fake.load(), fake_options(fake));
  CHECK(fake.evaluations("none").size() == 2);
  // The same settings and state of a training on other data.
  write_file_atomically(fake.runs() / "none" / "run.json",
                        "{\"data\":{\"fingerprint\":\"000000000000beef\"}}");
  run_study(fake.load(), fake_options(fake));
  CHECK(fake.evaluations("none").size() == 3);
}

TEST_CASE("the lowest loss at a length is marked among losses of one vocabulary only") {
  std::vector<LengthRow> rows;
  for (const double loss : {2.0, 1.0}) {
    rows.push_back({.title = "row", .vocabulary = "words"});
    rows.back().cells = {{.length = 64, .runs = {{"row", {.loss = loss}}}}};
  }
  CHECK(length_table(rows, 64).columns()[1].best == Column::Best::lowest);
  CHECK(length_table(rows, 64).is_best(1, 1));
  rows[1].whole = false;  // the seed that is missing may have been the worst
  CHECK_FALSE(length_table(rows, 64).is_best(1, 1));
  CHECK(length_table(rows, 64).text(1, 1) == "1.000");
  rows[1].vocabulary = "characters";
  CHECK(length_table(rows, 64).columns()[1].best == Column::Best::none);
}

TEST_CASE("lengths stand beside the training's where that is one") {
  const std::vector<LengthRow> rows{
      {.title = "rope", .cells = {{.length = 9}, {.length = 1024}, {.length = 16384}}}};
  const auto titles = [&](std::optional<std::int64_t> training_length) {
    std::vector<std::string> result;
    const Table table = length_table(rows, training_length);
    for (const Column& column : table.columns()) result.push_back(column.title);
    return result;
  };
  using Titles = std::vector<std::string>;
  CHECK(titles(8) == Titles{"model", "9 (1.12x)", "1024 (128x)", "16384 (2048x)"});
  CHECK(titles({}) == Titles{"model", "9", "1024", "16384"});
  const FakeProgram fake("rope");
  CHECK(common_training_length(fake.load({{"data.length", "64"}})) == 64);
  CHECK(!common_training_length(fake.load({{"data.length", "64,128"}})));
}
