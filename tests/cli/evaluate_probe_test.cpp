// A probe's run is asked at the lengths of its validations, and at others.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("the run of a probe is evaluated at any length, as its validations were") {
  const TemporaryFolder folder;
  const std::string config = (folder.path / "probe.yaml").string();
  std::ofstream(config) << "task: probe\nrun: p\nruns: " << folder.path.string()
                        << "\nprobe: {kind: copy, longest: 2, examples: 40}\n"
                           "model: {layers: 1, width: 16, heads: 2, feed_forward: 32}\n"
                           "data: {length: 16}\n"
                           "training: {steps: 20, batch: 8, learning_rate: 1e-2, precision: fp32, "
                           "validate_every: 20}\n";
  REQUIRE(run({"train", config}).code == 0);
  const std::string trained = (folder.path / "p").string();

  const Outcome json = run({"evaluate", trained, "--json"});
  REQUIRE(json.code == 0);
  const auto evaluations = nlohmann::json::parse(json.output)["evaluations"];
  REQUIRE(evaluations.size() == 2);
  const auto figures = nlohmann::json::parse(
      read_file(folder.path / "p" / "summary.json"))["validations"][0]["figures"];
  for (const auto& [i, suffix] : {std::pair(0, ""), std::pair(1, "_at_x2")}) {
    CHECK(evaluations[i]["length"] == 16 << i);
    CHECK(evaluations[i]["symbol_accuracy"] ==
          figures["symbol_accuracy" + std::string(suffix)].get<double>());
  }
  CHECK(evaluations[0]["loss"].get<double>() == Approx(figures["loss"].get<double>()));

  const Outcome text = run({"evaluate", trained, "--length", "8,64", "--position.scaling", "ntk",
                            "--position.factor", "4"});
  REQUIRE(text.code == 0);
  CHECK(has(text.output, "40 questions of copy"));
  CHECK(has(run({"evaluate", trained, "--length", "2"}).errors, "smallest question"));
  CHECK(has(run({"evaluate", trained, "--tokens", "9"}).errors,
            "--tokens: is not for the run of a probe"));
  CHECK(has(run({"evaluate", trained, "--questions", "60"}).output, "60 questions of copy"));
  const Outcome paired =
      run({"evaluate", trained, "--against", trained, "--length", "16", "--json"});
  REQUIRE(paired.code == 0);
  const auto against = nlohmann::json::parse(paired.output)["evaluations"][0]["against"];
  CHECK(against["only_run_right"] == 0);
  CHECK(against["both_right"].get<int>() + against["neither_right"].get<int>() == 40);
  CHECK(has(run({"evaluate", trained, "--against", trained}).output, "McNemar's test"));
  CHECK(has(run({"train", config, "--run", "q", "--data.directory", trained}).errors,
            "makes its own examples"));
}
