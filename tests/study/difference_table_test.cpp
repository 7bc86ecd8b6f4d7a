// How surely rows differ from the best one, on figures that were written down.
#include "study/difference_table.h"

#include "catch.h"
#include "fake_program.h"
#include "finished_run.h"

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
  SECTION("one common seed says nothing") {
    results[1].state = results[2].state = RunResult::State::failed;
    CHECK(difference_table(study, study_rows(study, results)).rows().empty());
  }
}
