// Which charts a study has, from figures that were written down.
#include "experiments/study_results.h"

#include "catch.h"
#include "experiments/fake_study.h"
#include "finished_run.h"
#include "has.h"

using namespace roformer;

namespace {

template <typename Chart>
const Chart* chart_named(const std::vector<NamedChart>& charts, const std::string& name) {
  for (const NamedChart& one : charts) {
    if (one.name == name) return std::get_if<Chart>(&one.chart);
  }
  return nullptr;
}

std::vector<StudyRow> rows_of(const StudySettings& study) {
  std::vector<RunResult> results;
  double loss = 3;
  for (const StudyRun& run : study.runs) {
    results.push_back(finished_run(run.values[0], "1", loss += 0.01));
    results.back().name = run.name;
    results.back().values = run.values;
  }
  return study_rows(study, results);
}

}  // namespace

TEST_CASE("a study of few rows has one chart of curves, and dots") {
  const FakeStudy fake("none, rope");
  const StudySettings study = fake.load({{"seed", "1,2,3"}});
  const StudyResults results{
      .rows = rows_of(study),
      .references = {
          {.direction = ReferenceLine::Direction::horizontal, .value = 6, .label = "unigram"}}};
  const std::vector<NamedChart> charts = study_charts(study, results);
  const auto* curves = chart_named<LineChart>(charts, "curves");
  REQUIRE(curves != nullptr);
  CHECK(curves->series.size() == 2);
  REQUIRE(curves->references.size() == 1);
  CHECK(curves->references[0].label == "unigram");
  const auto* dots = chart_named<DotChart>(charts, "figures");
  REQUIRE(dots != nullptr);
  REQUIRE(dots->dots.size() == 2);
  // scipy.stats.t.interval(0.95, 2, 3.02, 0.01 / sqrt(3))
  CHECK(dots->dots[0].name == "none");
  CHECK(dots->dots[0].low.value() == Approx(2.9951586));
  CHECK(dots->dots[0].high.value() == Approx(3.0448414));
  CHECK(dots->dots[0].parts.size() == 3);
  CHECK(dots->dots[0].label == "3.020 ± 0.010");
  CHECK(dots->dots[0].group.empty());
}

TEST_CASE("curves of a share are in the per cent that the axis says, and single points are seen") {
  const FakeStudy fake("none, rope");
  StudySettings study = fake.load();
  study.metric = "masked_accuracy";
  std::vector<StudyRow> rows = rows_of(study);
  for (StudyRow& row : rows) {
    for (RunResult& run : row.runs) run.curves["masked_accuracy"] = {{.x = 10, .y = 0.25}};
  }
  // Of nothing but one validation there is the table.
  CHECK(chart_named<LineChart>(study_charts(study, {.rows = rows}), "curves") == nullptr);
  rows.back().runs.front().curves["masked_accuracy"].push_back({.x = 20, .y = 0.5});
  const std::vector<NamedChart> charts = study_charts(study, {.rows = rows});
  const auto* curves = chart_named<LineChart>(charts, "curves");
  REQUIRE(curves != nullptr);
  CHECK(curves->y.unit == "%");
  REQUIRE(curves->series.size() == 2);
  CHECK(curves->series[0].y == std::vector<double>{25});
  CHECK(curves->markers == LineChart::Markers::always);
}

TEST_CASE("more lines than colours become a panel for each family of schemes") {
  const FakeStudy fake("none, rope, rerope, sinusoidal, learned, shaw, t5, kerple, fire");
  const StudySettings study = fake.load();
  const std::vector<NamedChart> charts = study_charts(study, {.rows = rows_of(study)});
  const auto* grid = chart_named<LineChartGrid>(charts, "curves");
  REQUIRE(grid != nullptr);
  std::vector<std::string> titles;
  for (const LineChart& panel : grid->panels) {
    titles.push_back(panel.title);
    CHECK(panel.series.size() + panel.context.size() == 9);
  }
  CHECK(titles == std::vector<std::string>{"none", "rotary", "absolute", "relative", "bias"});
  CHECK(grid->panels[1].series.size() == 2);
  const auto* dots = chart_named<DotChart>(charts, "figures");
  REQUIRE(dots != nullptr);
  CHECK(dots->dots[1].group == "rotary");
  CHECK_FALSE(dots->dots[1].low.has_value());
  CHECK(dots->subtitle == "One seed: its noise is not known");
  StudyResults measured{.rows = rows_of(study)};
  for (StudyRow& row : measured.rows) {
    row.runs.front().figures["validation_loss_standard_error"] = 0.1;
  }
  const std::vector<NamedChart> with_errors = study_charts(study, measured);
  const auto* intervals = chart_named<DotChart>(with_errors, "figures");
  REQUIRE(intervals != nullptr);
  CHECK(intervals->dots[0].low.value() == Approx(3.01 - 0.196));
  CHECK(has(intervals->subtitle, "of the held-out text"));
}
