#include "experiments/training_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/inner_path.h"
#include "catch.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/study_results.h"
#include "fake_program.h"
#include "has.h"

using namespace roformer;

TEST_CASE("the figures of a training are read from its folder") {
  const FakeProgram fake("rope");
  const StudySettings study = fake.load();
  CHECK(training_result(study.runs[0]).state == RunResult::State::not_finished);
  run_study(study, fake_options(fake));
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
  const std::string script = read_file(fake.path / "train");
  const std::size_t third = script.find("75 6.0");
  REQUIRE(third != std::string::npos);
  write_file_atomically(fake.path / "train", std::string(script).replace(third, 2, "67"));
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  std::filesystem::remove_all(fake.runs());
  run_study(study, fake_options(fake));
  CHECK_FALSE(training_result(study.runs[0]).figures.contains("loss_at_75"));
  CHECK(result.curves.at("validation_loss").size() == 4);
  CHECK(result.record["data"]["fingerprint"] == "000000000000f00d");
  CHECK(recorded_text(result.record, "/data/fingerprint") == "000000000000f00d");
  const std::vector<std::string> known = run_figures(study.runs[0].settings);
  for (const auto& [name, value] : result.figures) {
    CAPTURE(name);
    CHECK(std::find(known.begin(), known.end(), name) != known.end());
  }
}

TEST_CASE("figures are of the weights that a run serves") {
  const FakeProgram fake("rope");
  // Beside the losses those of the average, a tenth as large.
  std::string script = read_file(fake.path / "train");
  const std::string loss = R"("figures":{"loss":%s,)";
  const std::size_t place = script.find(loss);
  REQUIRE(place != std::string::npos);
  script.replace(place, loss.size(), R"("figures":{"loss":%s,"ema_loss":0.%s,)");
  const std::size_t values = script.find(R"("$1" "$2")", place);
  REQUIRE(values != std::string::npos);
  script.replace(values, 9, R"("$1" "$2" "${2%.*}")");
  write_file_atomically(fake.path / "train", script);
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  for (const auto& [weights, final_loss, loss_at_25] :
       {std::tuple("raw", 3.1, 8.0), std::tuple("ema", 0.3, 0.8)}) {
    const StudySettings study = fake.load({{"training.ema", "0.9"}, {"training.weights", weights}});
    run_study(study, fake_options(fake));
    const RunResult result = training_result(study.runs[0]);
    CHECK(result.figures.at("validation_loss") == final_loss);
    CHECK(result.figures.at("ema_validation_loss") == 0.3);
    CHECK(result.figures.at("loss_at_25") == loss_at_25);
    CHECK(result.curves.at("validation_loss").back().y == final_loss);
    std::filesystem::remove_all(fake.runs());
  }
}

TEST_CASE("where patience ends a run its figures are of the best validation, and said to be") {
  const FakeProgram fake("rope");
  const auto show = [&](const char* patience) {
    const StudySettings study = fake.load({{"training.patience", patience}});
    const StudyOutcome outcome = run_study(study, fake_options(fake));
    return std::pair(training_result(study.runs[0]), read_file(outcome.report));
  };
  // The validation before the last is better than it.
  const std::string script = read_file(fake.path / "train");
  const std::size_t third = script.find("75 6.0");
  REQUIRE(third != std::string::npos);
  write_file_atomically(fake.path / "train", std::string(script).replace(third, 6, "75 2.5"));
  std::filesystem::permissions(fake.path / "train", std::filesystem::perms::owner_all);
  const auto [last, page_of_last] = show("0");
  CHECK(last.figures.at("validation_loss") == 3.1);
  CHECK(last.curves.at("validation_loss").size() == 4);
  CHECK(has(page_of_last, "Figures of the last validation."));
  std::filesystem::remove_all(fake.runs());
  const auto [best, page_of_best] = show("3");
  CHECK(best.figures.at("validation_loss") == 2.5);
  CHECK(best.curves.at("validation_loss").size() == 4);
  CHECK(has(page_of_best, "Figures of the best validation: training.patience"));
  CHECK(has(read_file(fake.runs() / "table.md"), "Figures of the best validation"));
}

TEST_CASE("a run whose attention took the fast gradient is another one where exact is wanted") {
  const FakeProgram fake("rope");
  const StudySettings study = fake.load(),
                      exact = fake.load({{"training.attention_gradient", "exact"}});
  run_study(study, fake_options(fake));
  const std::filesystem::path file = fake.runs() / "rope" / "run.json";
  const auto state = [&](const StudySettings& wanted, const std::string& taken) {
    nlohmann::json record = read_checksummed_json(file);
    if (!taken.empty()) record["attention"] = {{"gradient", taken}};
    write_checksummed_json(InnerPath::named(file), record);
    return training_status(wanted.runs[0]).state;
  };
  using State = TrainingRunStatus::State;
  CHECK(state(exact, "") == State::finished);  // an older program's
  CHECK(state(exact, "exact") == State::finished);
  CHECK(state(study, "fast") == State::finished);
  CHECK(state(exact, "fast") == State::changed);
  CHECK(training_status(exact.runs[0]).changes ==
        std::vector<std::string>{"training.attention_gradient fast -> exact"});
}

TEST_CASE("a finished run whose record is lost or damaged is not taken for whole") {
  const FakeProgram fake("rope");
  const StudySettings study = fake.load();
  run_study(study, fake_options(fake));
  using State = TrainingRunStatus::State;
  CHECK(training_status(study.runs[0]).state == State::finished);
  const std::filesystem::path record = fake.runs() / "rope" / "run.json";
  write_file_atomically(record, "{\"commit\": ");
  CHECK(training_status(study.runs[0]).state == State::changed);
  CHECK_NOTHROW(training_result(study.runs[0]));
  std::filesystem::remove(record);
  CHECK(training_status(study.runs[0]).state == State::changed);
  CHECK(has(training_status(study.runs[0]).changes.front(), "run.json"));
}
