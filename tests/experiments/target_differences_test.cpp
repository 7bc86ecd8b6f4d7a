// Differences on the same targets where a rate was chosen for each row.
#include "experiments/difference_table.h"

#include "catch.h"
#include "experiments/fake_study.h"

using namespace roformer;

TEST_CASE("rows are compared with the reference at the rate that was chosen for it") {
  const FakeStudy fake("none, rope");
  StudySettings study = fake.load({{"training.learning_rate", "1e-3,2e-3"}});
  study.metric = "test_loss";
  study.choose = "training.learning_rate";
  study.reference = "rope";
  study.evaluations.split = "test";
  REQUIRE(study.runs.size() == 4);  // none and rope at either rate
  const double losses[] = {4, 6, 5, 3};
  const std::int64_t length = study.runs.front().settings.data.length;
  study.evaluations.lengths = {length};
  std::vector<RunResult> results;
  std::vector<LengthRow> lengths;
  for (std::size_t i = 0; i < 4; ++i) {
    RunResult run{.name = study.runs[i].name,
                  .values = study.runs[i].values,
                  .state = RunResult::State::finished};
    run.figures["test_loss"] = losses[i];
    const LanguageEvaluation measured{.loss_sums_by_row = {losses[i], losses[i]},
                                      .targets_by_row = {1, 1},
                                      .targets_fingerprint = 7};
    lengths.push_back({.cells = {{.length = length, .runs = {{run.name, measured}}}}});
    results.push_back(std::move(run));
  }
  std::vector<StudyRow> rows = study_rows(study, results, StudyOrder::file);
  add_target_differences(study, lengths, rows);
  const auto difference = [&](std::size_t row) {
    const auto& figures = rows[row].runs.front().figures;
    const auto found = figures.find("test_loss_less_reference");
    return found == figures.end() ? std::string("none") : std::to_string(found->second);
  };
  CHECK(difference(0) == "1.000000");  // 4 against 3, not against 5
  CHECK(difference(1) == "none");      // a rate that was not chosen
  CHECK(difference(2) == "none");
  CHECK(difference(3) == "none");
}
