// The table of a study from figures that were written down, not measured.
#include "study/study_table.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "fake_program.h"
#include "study/study_report.h"
#include "study/training_run.h"

using namespace roformer;

namespace {

RunResult finished(const std::string& position, const std::string& seed, double loss) {
  RunResult result{.name = position + "-seed" + seed,
                   .values = {position, seed},
                   .state = RunResult::State::finished};
  result.figures = {{"validation_loss", loss}, {"parameters", 1000}, {"masked_accuracy", 0.5}};
  result.curves["validation_loss"] = {{.x = 50, .y = loss + 1}, {.x = 100, .y = loss}};
  return result;
}

StudySettings study_of(const std::string& positions) {
  const FakeStudy fake(positions);
  return fake.load({{"seed", "1,2"}});
}

std::string cell(const Table& table, std::size_t row, const std::string& name) {
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    if (table.columns()[column].name() == name) return table.text(row, column);
  }
  return "no column " + name;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a row is the mean over the seeds, the best row first") {
  StudySettings study = study_of("none, rope");
  study.paper = {{.row = "rope", .metric = "validation_loss", .value = 3.5, .source = "Su 2021"}};
  // numpy.std([3, 5], ddof=1) = 1.4142; of one seed there is no deviation.
  std::vector<RunResult> results{finished("none", "1", 6), finished("none", "2", 6.5),
                                 finished("rope", "1", 3), finished("rope", "2", 5)};
  results[1].state = RunResult::State::failed;
  results[1].remark = "exit code 1";
  const std::vector<StudyRow> rows = study_rows(study, results);
  const Table table = study_table(study, rows, StateColumn::full);
  REQUIRE(table.rows().size() == 2);
  CHECK(cell(table, 0, "position") == "rope");
  CHECK(cell(table, 0, "validation_loss") == "4.000 ± 1.414");
  CHECK(cell(table, 0, "validation_loss_paper") == "3.500");
  CHECK(cell(table, 0, "parameters") == "1,000");
  CHECK(cell(table, 0, "state") == "finished");
  CHECK(cell(table, 1, "validation_loss") == "6.000");
  CHECK(cell(table, 1, "validation_loss_paper") == "–");
  CHECK(cell(table, 1, "state") == "none-seed2 failed: exit code 1");
  CHECK(cell(study_table(study, rows, StateColumn::brief), 1, "state") == "1 of 2 failed");
  const Table missing = missing_table(rows);
  REQUIRE(missing.rows().size() == 1);
  CHECK(missing.text(0, 0) == "none");
  CHECK(study_rows(study, results, StudyOrder::file)[0].title() == "none");

  const StudyOrigin origin{.command = "roformer study <tiny>", .version = "1", .commit = "abc"};
  const std::string page = study_html(study, rows, origin);
  CHECK(has(page, "roformer study &lt;tiny&gt;"));
  CHECK(has(page, "4.000"));
  CHECK(has(page, "Su 2021"));
  CHECK(has(page, "1 of 4") == false);
  CHECK(has(page, "3 of 4"));
  const auto document = nlohmann::json::parse(study_json(study, rows, origin));
  CHECK(document["rows"][0]["validation_loss"]["count"] == 2);
  CHECK(document["runs"][0]["curves"]["validation_loss"][1][1] == 3.0);
  CHECK(document["runs"][3]["state"] == "failed");
}

TEST_CASE("a greater value is better where the metric is no loss") {
  StudySettings study = study_of("none, rope");
  study.metric = "masked_accuracy";
  std::vector<RunResult> results{finished("none", "1", 3), finished("none", "2", 3),
                                 finished("rope", "1", 3), finished("rope", "2", 3)};
  results[2].figures["masked_accuracy"] = results[3].figures["masked_accuracy"] = 0.6;
  CHECK(study_rows(study, results)[0].title() == "rope");
}

TEST_CASE("columns that the study names replace those of the task") {
  StudySettings study = study_of("none, rope");
  study.columns = {"odd_figure"};
  const Table table = study_table(study, study_rows(study, {}), StateColumn::full);
  REQUIRE(table.columns().size() == 3);
  CHECK(table.columns()[1].key == "validation_loss");
  CHECK(table.columns()[2].title == "odd figure");
}

TEST_CASE("the figures of a training are read from its folder") {
  const FakeStudy fake("rope");
  const StudySettings study = fake.load();
  CHECK(training_result(study.runs[0]).state == RunResult::State::not_finished);
  run_study(study, fake.options());
  const RunResult result = training_result(study.runs[0]);
  CHECK(result.state == RunResult::State::finished);
  CHECK(result.figures.at("validation_loss") == 3.1);
  CHECK(result.figures.at("masked_accuracy") == 0.25);
  CHECK(result.figures.at("parameters") == 1000);
  CHECK(result.figures.at("tokens_per_second") == 12000);
  // Validations were at steps 20, 50, 75 and 100 of 100.
  CHECK(result.figures.at("loss_at_25") == 8.0);
  CHECK(result.figures.at("loss_at_50") == 7.0);
  CHECK(result.figures.at("loss_at_75") == 6.0);
  CHECK(result.curves.at("validation_loss").size() == 4);
  CHECK(result.record["data"]["fingerprint"] == "f00d");
}
