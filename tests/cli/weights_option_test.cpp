// --weights: the same choice between a run's weights and their moving average in every command.
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/log.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/tiny_run.h"

using namespace roformer;

namespace {

double loss_of(const Outcome& outcome) {
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.output)["evaluations"][0]["loss"].get<double>();
}

}  // namespace

TEST_CASE("a run with an average is used by either of its weights") {
  const std::string named = GENERATE("raw", "ema");
  const TinyRun tiny("rope", {{"training.ema", "0.9"},
                              {"training.steps", "12"},
                              {"training.weights", named},
                              {"training.learning_rate", "5e-3"}});
  const TrainingSummary summary = train_run(tiny.settings, ExistingRun::refuse);
  const std::string folder = tiny.run().string();
  const auto& figures = summary.validations.back().figures;
  const double raw = loss_of(run({"evaluate", folder, "--weights", "raw", "--json"}));
  const double ema = loss_of(run({"evaluate", folder, "--weights", "ema", "--json"}));
  CHECK(raw == Approx(figures.at("loss")).epsilon(1e-6));
  CHECK(ema == Approx(figures.at("ema_loss")).epsilon(1e-6));
  CHECK(std::abs(raw - ema) > 1e-4);
  // Without the flag as the run says, and a line says so.
  std::optional<log::FileSink> sink(tiny.folder.path / "log");
  const Outcome chosen = run({"evaluate", folder, "--json"});
  sink.reset();
  CHECK(loss_of(chosen) == (named == "raw" ? raw : ema));
  CHECK(has(read_file(tiny.folder.path / "log"), "its " + named + " weights are used"));
  CHECK(run({"fill-mask", folder, "a [MASK]", "--weights", "raw", "--json"}).output !=
        run({"fill-mask", folder, "a [MASK]", "--weights", "ema", "--json"}).output);
  CHECK(run({"evaluate", folder, "--weights", "best"}).code == 2);

  const std::string average = (tiny.folder.path / "average").string();
  REQUIRE(run({"average", folder, "--last", "1", "--output", average}).code == 0);
  CHECK(loss_of(run({"evaluate", average, "--json"})) == (named == "raw" ? raw : ema));
  const Outcome refused = run({"evaluate", average, "--weights", "ema"});
  CHECK(refused.code == 2);
  CHECK(has(refused.errors, "keeps no moving average of its weights"));
}
