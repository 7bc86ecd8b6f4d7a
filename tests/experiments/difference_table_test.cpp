// How surely rows differ from the best one, on figures that were written down.
#include "experiments/difference_table.h"

#include "catch.h"
#include "experiments/fake_study.h"
#include "finished_run.h"
#include "has.h"

using namespace roformer;

TEST_CASE("rows are compared with the best one seed by seed") {
  const FakeStudy fake("none, rope");
  const StudySettings study = fake.load({{"seed", "1,2,3"}});
  std::vector<RunResult> results{finished_run("none", "1", 4.0), finished_run("none", "2", 4.4),
                                 finished_run("none", "3", 4.1), finished_run("rope", "1", 3.0),
                                 finished_run("rope", "2", 3.2), finished_run("rope", "3", 3.3)};
  const Table table = difference_table(study, study_rows(study, results));
  REQUIRE(table.rows().size() == 1);
  CHECK(table.text(0, 0) == "none");
  CHECK(table.text(0, 1) == "rope");
  CHECK(table.text(0, 2) == "3");
  // scipy.stats.ttest_rel([4.0, 4.4, 4.1], [3.0, 3.2, 3.3]) and its confidence_interval().
  CHECK(cell_value(table.rows()[0][3]) == Approx(1.0));
  CHECK(cell_value(table.rows()[0][4]) == Approx(0.5031724576));
  CHECK(cell_value(table.rows()[0][5]) == Approx(1.4968275424));
  CHECK(cell_value(table.rows()[0][6]) == Approx(0.0130724576));

  SECTION("a seed that one of them lacks is left out of both") {
    results[1].state = RunResult::State::failed;
    const Table fewer = difference_table(study, study_rows(study, results));
    REQUIRE(fewer.rows().size() == 1);
    CHECK(fewer.text(0, 2) == "2");
    CHECK(cell_value(fewer.rows()[0][3]) == Approx(0.9));
  }
  SECTION(
      "with more rows the p-values are corrected: for all pairs, or with a reference only its") {
    const FakeStudy wide("none, rope, t5");
    StudySettings more = wide.load({{"seed", "1,2,3"}});
    results.push_back(finished_run("t5", "1", 3.1));
    results.push_back(finished_run("t5", "2", 3.2));
    results.push_back(finished_run("t5", "3", 3.5));
    const Table pairs = difference_table(more, study_rows(more, results));
    REQUIRE(pairs.rows().size() == 2);
    CHECK(pairs.columns()[1].title == "best");
    // scipy's ttest_rel of none, rope, of none, t5 and of t5, rope: 0.0130725, 0.0350987,
    // 0.2254033; statsmodels' Holm correction of the three.
    CHECK(pairs.text(0, 0) == "t5");
    CHECK(cell_value(pairs.rows()[0][6]) == Approx(0.2254033).epsilon(1e-5));
    CHECK(cell_value(pairs.rows()[0][7]) == Approx(0.2254033).epsilon(1e-5));
    CHECK(cell_value(pairs.rows()[1][7]) == Approx(0.0392174).epsilon(1e-5));
    CHECK(has(difference_caption(more, study_rows(more, results)), "for 3 comparisons: all pairs"));
    more.reference = "none";
    const Table named = difference_table(more, study_rows(more, results));
    REQUIRE(named.rows().size() == 2);
    CHECK(named.columns()[1].title == "reference");
    CHECK(named.text(0, 0) == "rope");
    CHECK(named.text(0, 1) == "none");
    CHECK(cell_value(named.rows()[0][3]) == Approx(-1.0));
    CHECK(cell_value(named.rows()[0][7]) == Approx(0.0261449).epsilon(1e-5));
    CHECK(cell_value(named.rows()[1][7]) == Approx(0.0350987).epsilon(1e-5));
    CHECK(has(difference_caption(more, study_rows(more, results)), "named beforehand"));
  }
  SECTION("declared tests are corrected together, and other rows are exploratory") {
    const FakeStudy wide("none, rope, t5");
    StudySettings more = wide.load({{"seed", "1,2,3"}});
    more.reference = "rope";
    more.primary = {.rows = {"none"}, .metrics = {more.metric, "accuracy"}};
    for (const auto& [seed, figure] : {std::pair("1", 3.1), {"2", 3.2}, {"3", 3.5}}) {
      results.push_back(finished_run("t5", seed, figure));
    }
    const std::vector<double> accuracies = {0.1, 0.2, 0.15, 0.5, 0.5, 0.6};
    for (std::size_t i = 0; i < accuracies.size(); ++i) {
      results[i].figures["accuracy"] = accuracies[i];
    }
    const std::vector<StudyRow> rows = study_rows(more, results);
    const Table table = difference_table(more, rows);
    REQUIRE(table.rows().size() == 3);
    CHECK(table.text(1, 0) == "accuracy");
    CHECK(table.text(2, 1) == "t5");
    CHECK(table.text(2, 9) == "exploratory");
    CHECK(std::holds_alternative<std::monostate>(table.rows()[2][8]));
    // scipy's ttest_rel of the three rows: 0.0130724576, 0.0129755265, 0.2254033. Holm of the first
    // two.
    CHECK(cell_value(table.rows()[0][8]) == Approx(0.0259510531));
    CHECK(cell_value(table.rows()[1][7]) == Approx(0.0129755265));
    CHECK(cell_value(table.rows()[1][8]) == Approx(0.0259510531));
    CHECK(cell_value(table.rows()[2][7]) == Approx(0.2254033).epsilon(1e-5));
    CHECK(has(difference_caption(more, rows), "for 2 comparisons, which were declared"));
  }
  SECTION("a row of one seed does not stand for the best that all are compared with") {
    const FakeStudy wide("none, rope, t5");
    StudySettings more = wide.load({{"seed", "1,2,3"}});
    more.version = 1;
    results.push_back(finished_run("t5", "1", 1.0));
    const Table pairs = difference_table(more, study_rows(more, results));
    REQUIRE(pairs.rows().size() == 1);
    CHECK(pairs.text(0, 0) == "none");
    CHECK(pairs.text(0, 1) == "rope");
  }
  SECTION("one common seed says nothing") {
    results[1].state = results[2].state = RunResult::State::failed;
    CHECK(difference_table(study, study_rows(study, results)).rows().empty());
  }
}
