// What the page of a study says of its rows and of how they were made.
#include "experiments/study_results.h"

#include "catch.h"
#include "experiments/fake_study.h"
#include "finished_run.h"
#include "has.h"

using namespace roformer;

namespace {

// The losses of `none` and `rope`, a seed each.
StudyResults results_of(const StudySettings& study, const std::vector<double>& none,
                        const std::vector<double>& rope) {
  std::vector<RunResult> results;
  std::size_t seed = 0;
  for (const StudyRun& run : study.runs) {
    const std::vector<double>& losses = run.values[0] == "none" ? none : rope;
    results.push_back(finished_run(run.values[0], "1", losses[seed++ % losses.size()]));
    results.back().name = run.name;
    results.back().values = run.values;
  }
  return {
      .rows = study_rows(study, results),
      .references = {
          {.direction = ReferenceLine::Direction::horizontal, .value = 6.5, .label = "unigram"}}};
}

std::string first_tile(const std::string& page) {
  const std::size_t begin = page.find("best ");
  return page.substr(begin > 200 ? begin - 200 : 0, 500);
}

}  // namespace

TEST_CASE("a page crowns the row that the test tells from the next, and no other") {
  const FakeStudy fake("none, rope");
  const StudySettings study = fake.load({{"seed", "1,2,3"}});
  const std::string sure =
      study_html(study, results_of(study, {3.5, 3.51, 3.52}, {3.0, 3.01, 3.025}), {});
  CHECK(has(first_tile(sure), ">rope<"));
  CHECK_FALSE(has(sure, "not decided"));
  const std::string unsure =
      study_html(study, results_of(study, {3.0, 3.3, 3.1}, {3.1, 3.0, 3.2}), {});
  CHECK(has(first_tile(unsure), ">not decided<"));
  CHECK(has(first_tile(unsure), "(p 0."));
  const StudySettings one_seed = fake.load();
  const std::string single = study_html(one_seed, results_of(one_seed, {3.5}, {3.0}), {});
  CHECK(has(first_tile(single), "of one seed"));
  CHECK(has(first_tile(single), "none has 3.5"));
}

TEST_CASE("a page holds the study's file and what each formula says") {
  TemporaryFolder folder;
  const auto file = folder.path / "mine.yaml";
  write_file_atomically(file,
                        "# why\nruns: runs\nmatrix:\n  position:\n    - rope\n"
                        "    - {formula: {name: near, bias: '-abs(i - j)'}}\n");
  const StudySettings study = load_study(file);
  std::vector<RunResult> runs;
  for (const StudyRun& run : study.runs) runs.push_back({.name = run.name, .values = run.values});
  const std::string page = study_html(study, {.rows = study_rows(study, runs)}, {});
  CHECK(has(page, "file, mine.yaml"));
  CHECK(has(page, "# why"));
  CHECK(has(page, "Formula of near"));
  CHECK(has(page, "position.formula.bias: -abs(i - j)"));
}

TEST_CASE("the lines of the charts are rows of the table on the page, never the best") {
  const FakeStudy fake("none, rope");
  const StudySettings study = fake.load();
  StudyResults results = results_of(study, {7.5}, {7.0});
  const std::vector<StudyTable> page = study_tables(study, results, TableUse::page);
  const Table& table = find_table(page, "results")->table;
  REQUIRE(table.rows().size() == 3);
  CHECK(has(to_text(table), "unigram"));
  CHECK(has(to_text(table), "6.5"));
  std::size_t metric = 0;
  while (table.columns()[metric].name() != "validation_loss") ++metric;
  CHECK(table.is_best(0, metric));
  CHECK_FALSE(table.is_best(2, metric));
  const std::vector<StudyTable> data = study_tables(study, results, TableUse::data);
  CHECK(find_table(data, "results")->table.rows().size() == 2);
}
