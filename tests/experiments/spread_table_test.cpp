// Tables of a study whose learning rate is chosen and whose tasks stand side by side.
#include "experiments/study_table.h"

#include "catch.h"
#include "experiments/study_rows.h"

using namespace roformer;

namespace {

struct Scores {
  std::string task, rate, model;
  std::vector<double> of_seeds;
};

// Axes as of configs/glue/paper.yaml with --model.from.
StudySettings study_of(std::vector<PaperValue> paper = {}) {
  StudySettings study{.name = "glue", .metric = "score", .paper = std::move(paper)};
  study.columns = {"score_median", "collapsed"};
  study.choose = "training.learning_rate";
  study.spread = "glue.task";
  study.note = "They do not compare.";
  study.axes = {{.key = "glue.task", .values = {"mrpc", "cola"}},
                {.key = "training.learning_rate", .values = {"2e-5", "5e-5"}},
                {.key = "seed", .values = {"1", "2", "3"}},
                {.key = "model.from", .values = {"a", "b"}}};
  study.runs.emplace_back();
  study.runs.front().settings.task = TaskKind::glue;
  return study;
}

std::vector<StudyRow> rows_of(const StudySettings& study, const std::vector<Scores>& all) {
  std::vector<RunResult> results;
  for (const Scores& scores : all) {
    for (std::size_t seed = 0; seed < scores.of_seeds.size(); ++seed) {
      RunResult run{.values = {scores.task, scores.rate, std::to_string(seed + 1), scores.model},
                    .state = RunResult::State::finished};
      run.figures = {{"score", scores.of_seeds[seed]},
                     {"collapsed", scores.of_seeds[seed] == 0 ? 1.0 : 0.0}};
      results.push_back(run);
    }
  }
  return study_rows(study, results, StudyOrder::file);
}

const std::vector<Scores> kScores = {
    {"mrpc", "2e-5", "a", {0.80, 0.82, 0.81}}, {"mrpc", "5e-5", "a", {0.90, 0.70, 0.78}},
    {"mrpc", "2e-5", "b", {0.5, 0.5, 0.5}},    {"mrpc", "5e-5", "b", {0.6, 0.6, 0.6}},
    {"cola", "2e-5", "a", {0, 0, 0.3}},        {"cola", "5e-5", "a", {0, 0, 0}}};

}  // namespace

TEST_CASE("the learning rate with the best mean over the seeds is chosen, a row at a time") {
  const StudySettings study = study_of();
  const std::vector<StudyRow> all = rows_of(study, kScores);
  CHECK(all.size() == 6);
  const std::vector<StudyRow> chosen = chosen_rows(study, all);
  REQUIRE(chosen.size() == 3);
  CHECK(chosen[0].title() == "mrpc, 2e-5, a");  // 0.81 against 0.793
  CHECK(chosen[1].title() == "mrpc, 5e-5, b");
  CHECK(chosen[2].title() == "cola, 2e-5, a");
  const Table table = study_table(study, chosen, TableUse::document);
  CHECK(to_csv(table).find("score_median") != std::string::npos);
  CHECK(table.text(0, 0) == "MRPC (F1)");
  CHECK(table.text(0, 3) == "81.0 ± 1.0");  // numpy.std([80, 82, 81], ddof=1) = 1
  CHECK(table.text(0, 4) == "81.0");
  CHECK(table.text(0, 5) == "0");
  CHECK(table.text(2, 4) == "0.0");
  CHECK(table.text(2, 5) == "2");
}

TEST_CASE("a run that is missing does not win by its rest") {
  const StudySettings study = study_of();
  std::vector<StudyRow> rows = rows_of(study, kScores);
  rows[1].runs[1].state = RunResult::State::failed;
  rows[1].runs[2].state = RunResult::State::failed;  // 0.90 is left
  CHECK(chosen_rows(study, rows)[0].title() == "mrpc, 2e-5, a");
}

TEST_CASE("a cell over fewer seeds than the others says so") {
  const StudySettings study = study_of();
  std::vector<StudyRow> rows = rows_of(study, kScores);
  rows[2].runs[1].state = rows[3].runs[1].state = RunResult::State::failed;
  rows[4].runs[0].state = rows[4].runs[1].state = RunResult::State::failed;
  rows[5].runs[0].state = rows[5].runs[1].state = RunResult::State::not_finished;
  const Table table = spread_table(study, chosen_rows(study, rows), TableUse::page);
  CHECK(table.text(0, 1) == "81.0 ± 1.0");
  CHECK(table.text(1, 1) == "60.0 ± 0.0 (2 of 3)");
  CHECK(table.text(0, 2) == "30.0 (1 of 3)");
  const Table data = spread_table(study, chosen_rows(study, rows), TableUse::data);
  CHECK(to_json(data)[0]["cola"]["mean"] == 0.3);
}

TEST_CASE("tasks are columns, models and the paper's values rows") {
  const StudySettings study =
      study_of({{.row = "mrpc", .metric = "score", .value = 0.895, .model = "RoFormer, paper"},
                {.row = "qnli", .metric = "score", .value = 0.88, .model = "RoFormer, paper"},
                {.row = "cola", .metric = "score", .value = 0.565, .model = "BERT, public"}});
  const Table table =
      spread_table(study, chosen_rows(study, rows_of(study, kScores)), TableUse::page);
  REQUIRE(table.columns().size() == 3);
  CHECK(table.columns()[1].title == "MRPC (F1)");
  CHECK(table.columns()[2].title == "CoLA (Matthews)");
  REQUIRE(table.rows().size() == 4);
  CHECK(table.text(0, 0) == "a");
  CHECK(table.text(0, 1) == "81.0 ± 1.0");
  CHECK(table.text(1, 0) == "b");
  CHECK(table.text(1, 2) == "–");
  CHECK(table.text(2, 0) == "RoFormer, paper");
  CHECK(table.text(2, 1) == "89.5");
  CHECK(table.text(3, 2) == "56.5");
}
