// The table of a study from figures that were written down, not measured.
#include "experiments/study_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/difference_table.h"
#include "experiments/fake_study.h"
#include "experiments/study_results.h"
#include "finished_run.h"
#include "has.h"

using namespace roformer;

namespace {

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

}  // namespace

TEST_CASE("a row is the mean over the seeds, the best row first") {
  StudySettings study = study_of("none, rope");
  study.paper = {{.row = "rope", .metric = "validation_loss", .value = 3.5, .source = "Su 2021"}};
  // numpy.std([3, 5], ddof=1) = 1.4142; of one seed there is no deviation.
  std::vector<RunResult> results{finished_run("none", "1", 6), finished_run("none", "2", 6.5),
                                 finished_run("rope", "1", 3), finished_run("rope", "2", 5)};
  results[1].state = RunResult::State::failed;
  results[1].remark = "exit code 1";
  const std::vector<StudyRow> rows = study_rows(study, results);
  const Table table = study_table(study, rows, TableUse::document);
  REQUIRE(table.rows().size() == 2);
  CHECK(cell(table, 0, "position") == "rope");
  CHECK(cell(table, 0, "validation_loss") == "4.000 ± 1.414");
  CHECK(cell(table, 0, "validation_loss_paper") == "3.500");
  CHECK(cell(table, 0, "parameters") == "1,000");
  CHECK(cell(table, 0, "state") == "finished");
  CHECK(cell(table, 1, "validation_loss") == "6.000 (1 of 2)");
  CHECK(cell(table, 1, "validation_loss_paper") == "–");
  CHECK(cell(table, 1, "state") == "none-seed2 failed: exit code 1");
  CHECK(cell(study_table(study, rows, TableUse::page), 1, "state") == "1 of 2 failed");
  const Table missing = missing_table(rows);
  REQUIRE(missing.rows().size() == 1);
  CHECK(missing.text(0, 0) == "none");
  CHECK(study_rows(study, results, StudyOrder::file)[0].title() == "none");

  const Origin origin{.command = "roformer study <tiny>", .version = "1", .commit = "abc"};
  const std::string page = study_html(study, {.rows = rows}, origin);
  CHECK(has(page, "roformer study &lt;tiny&gt;"));
  CHECK(has(page, "4.000"));
  CHECK(has(page, "Su 2021"));
  CHECK(has(page, "1 of 4") == false);
  CHECK(has(page, "3 of 4"));
  const auto document = nlohmann::json::parse(study_json(study, {.rows = rows}, origin));
  CHECK(document["rows"][0]["validation_loss"]["count"] == 2);
  CHECK(document["runs"][0]["curves"]["validation_loss"][1][1] == 3.0);
  CHECK(document["runs"][3]["state"] == "failed");
}

TEST_CASE("a greater value is better where the metric is no loss") {
  StudySettings study = study_of("none, rope");
  study.metric = "masked_accuracy";
  std::vector<RunResult> results{finished_run("none", "1", 3), finished_run("none", "2", 3),
                                 finished_run("rope", "1", 3), finished_run("rope", "2", 3)};
  results[2].figures["masked_accuracy"] = results[3].figures["masked_accuracy"] = 0.6;
  CHECK(study_rows(study, results)[0].title() == "rope");
}

TEST_CASE("losses of several vocabularies are not ranked") {
  StudySettings study = study_of("none, rope");
  study.columns = {"masked_accuracy", "tokens_per_second"};
  std::vector<RunResult> results{finished_run("none", "1", 6), finished_run("none", "2", 6.5),
                                 finished_run("rope", "1", 3), finished_run("rope", "2", 5)};
  const auto of_tokenizers = [&](const char* none, const char* rope) {
    for (RunResult& result : results) {
      result.record["data"]["tokenizer_fingerprint"] = result.values[0] == "none" ? none : rope;
    }
    return study_rows(study, results);
  };
  CHECK(of_tokenizers("a", "a")[0].title() == "rope");
  CHECK(!difference_table(study, of_tokenizers("a", "a")).rows().empty());
  const std::vector<StudyRow> rows = of_tokenizers("a", "b");
  CHECK(question_of(study, rows[1]) == "b");
  CHECK(rows[0].title() == "none");
  for (const char* const reference : {"", "rope"}) {
    study.reference = reference;
    CHECK(difference_table(study, rows).rows().empty());
  }
  for (const Column& column : study_table(study, rows, TableUse::document).columns()) {
    const bool of_pieces = column.key == "validation_loss" || column.key == "masked_accuracy";
    if (of_pieces) CHECK(column.best == Column::Best::none);
    if (column.key == "tokens_per_second") CHECK(column.best == Column::Best::highest);
  }
  CHECK(has(study_html(study, {.rows = rows}, {}), "do not compare between those"));
}

TEST_CASE("rows of one vocabulary are compared beside those of another") {
  StudySettings study = study_of("none, rope, t5");
  std::vector<RunResult> results;
  for (const char* const position : {"none", "rope", "t5"}) {
    for (const char* const seed : {"1", "2"}) {
      results.push_back(finished_run(position, seed, 3 + static_cast<double>(results.size())));
      results.back().record["data"]["tokenizer_fingerprint"] =
          std::string(position) == "none" ? "a" : "b";
    }
  }
  const std::vector<StudyRow> rows = study_rows(study, results);
  for (const char* const reference : {"", "rope"}) {
    study.reference = reference;
    const Table table = difference_table(study, rows);
    REQUIRE(table.rows().size() == 1);
    CHECK(table.text(0, 0) == "t5");
    CHECK(table.text(0, 1) == "rope");
  }
}

TEST_CASE("a study without runs has a table without rows") {
  StudySettings study = study_of("none, rope");
  study.runs.clear();
  CHECK(!of_several_questions(study, {}));
  CHECK(difference_table(study, {}).rows().empty());
  CHECK(study_rows(study, {}).empty());
}

TEST_CASE("columns that the study names replace those of the task") {
  StudySettings study = study_of("none, rope");
  study.columns = {"odd_figure"};
  const Table table = study_table(study, study_rows(study, {}), TableUse::document);
  REQUIRE(table.columns().size() == 3);
  CHECK(table.columns()[1].key == "validation_loss");
  CHECK(table.columns()[2].title == "odd figure");
}

TEST_CASE("a row that lacks seeds comes last, is never the best and says so") {
  const StudySettings study = study_of("none, rope, t5");
  std::vector<RunResult> results{finished_run("none", "1", 2), finished_run("none", "2", 2),
                                 finished_run("rope", "1", 4), finished_run("rope", "2", 5),
                                 finished_run("t5", "1", 5),   finished_run("t5", "2", 6)};
  results[1].state = RunResult::State::failed;
  const std::vector<StudyRow> rows = study_rows(study, results);
  CHECK(rows[0].title() == "rope");
  CHECK(rows[1].title() == "t5");
  CHECK(rows[2].title() == "none");
  const Table table = study_table(study, rows, TableUse::page);
  REQUIRE(table.columns()[2].key == "validation_loss");
  CHECK(table.text(2, 2) == "2.000 (1 of 2)");
  CHECK(table.is_best(0, 2));
  CHECK(!table.is_best(2, 2));
  CHECK(cell(table, 2, "parameters") == "1,000");
  CHECK(has(to_csv(study_table(study, rows, TableUse::data)), "none,1000,2,0,1,"));
  const Origin origin;
  const std::string page = study_html(study, {.rows = rows}, origin);
  CHECK(has(page, "<b>rope</b><span>best validation loss</span>"));
  CHECK(has(page, "none (1 of 2)"));  // in the charts
  results[3].state = results[5].state = RunResult::State::failed;
  CHECK(!has(study_html(study, {.rows = study_rows(study, results)}, origin),
             "best validation loss"));
}

TEST_CASE("the best of a protocol is a row that is ranked") {
  StudySettings study = study_of("none, rope");
  study.version = 1;
  const std::vector<RunResult> results{finished_run("none", "1", 2), finished_run("rope", "1", 4),
                                       finished_run("rope", "2", 5)};
  const std::string page = study_html(study, {.rows = study_rows(study, results)}, Origin());
  CHECK(has(page, "<b>rope</b><span>best validation loss</span>"));
}

TEST_CASE("a median may be the metric itself") {
  StudySettings study = study_of("none, rope");
  study.metric = "validation_loss_median";
  const std::vector<RunResult> results{finished_run("none", "1", 3), finished_run("none", "2", 5),
                                       finished_run("rope", "1", 3), finished_run("rope", "2", 4)};
  const std::vector<StudyRow> rows = study_rows(study, results);
  CHECK(rows[0].title() == "rope");
  CHECK(rows[0].value(study.metric) == 3.5);
}

TEST_CASE("of losses at several shares of the steps the first says what they are") {
  StudySettings study = study_of("none, rope");
  const std::vector<RunResult> results{finished_run("none", "1", 6), finished_run("none", "2", 6.5),
                                       finished_run("rope", "1", 3), finished_run("rope", "2", 5)};
  const auto titles = [&](std::vector<std::string> columns) {
    study.columns = std::move(columns);
    const Table table = study_table(study, study_rows(study, results), TableUse::document);
    std::vector<std::string> found;
    for (const Column& column : table.columns()) {
      if (has(column.title, "at ")) found.push_back(column.title);
    }
    return found;
  };
  using Titles = std::vector<std::string>;
  CHECK(titles({"loss_at_25", "loss_at_50", "loss_at_75"}) ==
        Titles{"loss at 25 %", "at 50 %", "at 75 %"});
  CHECK(titles({"loss_at_50", "parameters", "loss_at_75"}) ==
        Titles{"loss at 50 %", "loss at 75 %"});
}

TEST_CASE("a row whose seeds are of several machines has no times") {
  StudySettings study = study_of("none, rope");
  study.columns = {"milliseconds_per_step", "masked_accuracy"};
  std::vector<RunResult> results{finished_run("none", "1", 6), finished_run("none", "2", 6.5),
                                 finished_run("rope", "1", 3), finished_run("rope", "2", 5)};
  for (RunResult& run : results) {
    run.figures["milliseconds_per_step"] = 20;
    run.record = {{"machine", {{"processor", "one"}, {"cores", 2}, {"threads", 1}}}};
  }
  results[3].record["machine"]["processor"] = "another";
  const Table table = study_table(study, study_rows(study, results), TableUse::document);
  CHECK(cell(table, 0, "position") == "rope");
  CHECK(cell(table, 0, "milliseconds_per_step") == "–");
  CHECK(cell(table, 0, "masked_accuracy") == "50.0 ± 0.0");
  CHECK(cell(table, 1, "milliseconds_per_step") == "20.0 ± 0.0");
}
