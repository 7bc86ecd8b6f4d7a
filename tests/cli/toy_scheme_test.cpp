// A scheme from its two parts, the definition for config/ and the class for position/, registered
// here: from then on every command knows it, as it would with its lines in the lists.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "config/dump.h"
#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "has.h"
#include "position/scheme.h"
#include "runs/tiny_run.h"

using namespace roformer;

namespace {

// Each head prefers the token at one distance to the left, by a trained strength.
struct PreviousSettings {
  std::int64_t distance = 1;
  double initial = 0;
};

std::vector<Key> options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(
          PreviousSettings, distance,
          {.unit = "tokens", .range = between(1, 100), .help = "which token it prefers"}),
      ROFORMER_OPTION(PreviousSettings, initial, {.help = "the strength before training"}),
  };
}

void check(const SchemeCheck& check) {
  if (check.options<PreviousSettings>().distance < check.settings().data.length) return;
  check.problem({check.option("distance"), "data.length", check.choice()},
                "no token has one at that distance");
}

class Previous : public PositionScheme {
 public:
  explicit Previous(const SchemeInputs& in)
      : distance_(in.settings.of<PreviousSettings>().distance) {
    const double initial = in.settings.of<PreviousSettings>().initial;
    strength_ = in.parameters.add({.name = "position.strength",
                                   .shape = {in.shape.heads},
                                   .initial = constant(initial),
                                   .decay = false});
  }
  SchemeCapabilities capabilities() const override { return {.bias = BiasDependence()}; }
  at::Tensor bias(const AttentionContext& context) const override {
    const at::Tensor past =
        context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0);
    return strength_.view({1, -1, 1, 1}) * (past == distance_).to(context.type);
  }

 private:
  std::int64_t distance_;
  at::Tensor strength_;
};

const bool registered = [] {
  register_scheme_definition({.facts = {.name = "previous",
                                        .family = "bias",
                                        .formula = "S_ij += s_h where i - j is the distance",
                                        .cost = "fused attention with a bias",
                                        .longer = "yes",
                                        .paper = "this test"},
                              .options = options,
                              .check = check});
  register_scheme("previous", [](const SchemeInputs& in) -> std::unique_ptr<PositionScheme> {
    return std::make_unique<Previous>(in);
  });
  return true;
}();

// Two heads of width 2 over three tokens, worked out number by number.
nlohmann::json golden_case(const std::vector<double>& strength) {
  constexpr int kHeads = 2, kLength = 3, kWidth = 2;
  std::vector<double> q, k, v, logits, output;
  for (int i = 0; i < kHeads * kLength * kWidth; ++i) {
    q.push_back(std::sin(i + 1.0));
    k.push_back(std::cos(2.0 * i));
    v.push_back(std::sin(3.0 * i));
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kLength; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (int j = 0; j < kLength; ++j) {
        double score = i - j == 2 ? strength[static_cast<std::size_t>(h)] : 0;
        for (int d = 0; d < kWidth; ++d) {
          score += q.at((h * kLength + i) * kWidth + d) * k.at((h * kLength + j) * kWidth + d) /
                   std::sqrt(2.0);
        }
        logits.push_back(score);
        sum += weights.emplace_back(std::exp(score));
      }
      for (int d = 0; d < kWidth; ++d) {
        double value = 0;
        for (int j = 0; j < kLength; ++j) {
          value += weights[j] / sum * v.at((h * kLength + j) * kWidth + d);
        }
        output.push_back(value);
      }
    }
  }
  const auto array = [](std::vector<int> shape, const std::vector<double>& data) {
    return nlohmann::json{{"shape", shape}, {"data", data}};
  };
  const std::vector<int> rows{1, kHeads, kLength, kWidth};
  return {{"name", "previous"},
          {"scheme", "previous"},
          {"config", {{"distance", 2}}},
          {"inputs", {{"q", array(rows, q)}, {"k", array(rows, k)}, {"v", array(rows, v)}}},
          {"params", {{"position.strength", array({kHeads}, strength)}}},
          {"expected",
           {{"logits", array({1, kHeads, kLength, kLength}, logits)},
            {"output", array(rows, output)}}}};
}

}  // namespace

TEST_CASE("a registered scheme has keys with help, defaults and checks") {
  REQUIRE(registered);
  CHECK(run({"config", "keys", "position.previous"}).output ==
        "position.previous.distance\n"
        "    integer from 1 to 100, in tokens; default: 1\n"
        "    which token it prefers\n"
        "position.previous.initial\n"
        "    number; default: 0\n"
        "    the strength before training\n");
  const Outcome dump =
      run({"config", "dump", "--compact", "--position", "previous", "--position.distance", "3"});
  CHECK(has(dump.output, "  previous:\n    distance: 3\n    initial: 0\n"));
  CHECK(has(run({"config", "dump", "--position", "previous", "--position.distance", "99",
                 "--data.length", "64"})
                .errors,
            "--position.distance: no token has one at that distance"));
  CHECK(has(run({"config", "dump", "--position", "previos"}).errors, "did you mean previous"));
}

TEST_CASE("a registered scheme is listed and shown with its parameters") {
  CHECK(has(run({"positions", "list"}).output, "previous"));
  const Outcome show = run({"positions", "show", "previous"});
  CHECK(show.code == 0);
  CHECK(has(show.output, "S_ij += s_h where i - j is the distance"));
  CHECK(has(show.output, "position.strength [4]"));
  CHECK(has(show.output, "\ndistance "));
}

TEST_CASE("a registered scheme trains, and its run is opened with it") {
  const TinyRun tiny("previous");
  const std::filesystem::path file = tiny.folder.path / "previous.yaml";
  write_file_atomically(file, dump(tiny.settings, DumpStyle::compact));
  REQUIRE(run({"train", file.string()}).code == 0);
  CHECK(has(read_file(tiny.run() / "config.yaml"), "scheme: previous"));
  std::string weights;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(tiny.run() / "checkpoints")) {
    if (file.path().filename() == "model.safetensors") weights += read_file(file.path());
  }
  CHECK(has(weights, "position.strength"));
  const Outcome evaluated = run({"evaluate", tiny.run().string(), "--json"});
  REQUIRE(evaluated.code == 0);
  CHECK(nlohmann::json::parse(evaluated.output)["evaluations"][0]["loss"].get<double>() < 7);
}

TEST_CASE("a registered scheme is held against golden cases in its own words") {
  const TemporaryFolder folder;
  const auto verify = [&](const nlohmann::json& golden) {
    const nlohmann::json tight{{"rtol", 1e-5}, {"atol", 1e-6}};
    nlohmann::json tolerance;
    for (const char* name : {"float64", "float32", "grad_float64", "grad_float32"}) {
      tolerance[name] = tight;
    }
    const nlohmann::json index{{"format", "positions-golden-1"},
                               {"rules", {{"tolerance", tolerance}}},
                               {"cases", {{{"file", "previous.json"}}}}};
    write_file_atomically(folder.path / "index.json", index.dump());
    write_file_atomically(folder.path / "previous.json", golden.dump());
    return run({"positions", "verify", folder.path.string()});
  };
  nlohmann::json golden = golden_case({0.7, -1.1});
  CHECK(verify(golden).code == 0);
  golden["config"]["distance"] = 1;
  CHECK(verify(golden).code == 1);
  golden["config"] = {{"distanze", 1}};
  CHECK(has(verify(golden).errors, "unknown option distanze"));
  golden["config"] = {{"distance", 0}};
  CHECK(has(verify(golden).errors, "wanted an integer from 1 to 100"));
}
