// Probes of length as a run: without data, learned in seconds, tested beyond the trained length.
#include "base/error.h"
#include "catch.h"
#include "config/load.h"
#include "has.h"
#include "runs/train.h"
#include "tasks/task_definition.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

using Overrides = std::vector<Override>;

struct ProbeRun {
  TemporaryFolder folder;
  Settings settings;

  explicit ProbeRun(const Overrides& overrides) {
    Overrides all = {{"task", "probe"},
                     {"run", "probe"},
                     {"runs", (folder.path / "runs").string()},
                     {"threads", "1"},
                     {"data.length", "12"},
                     {"probe.longest", "2"},
                     {"probe.examples", "50"},
                     {"model.layers", "2"},
                     {"model.width", "64"},
                     {"model.heads", "4"},
                     {"model.feed_forward", "128"},
                     {"model.norm", "pre"},
                     {"model.embedding_scale", "sqrt_width"},
                     {"model.initialization", "0.05"},
                     {"model.dropout", "0"},
                     {"attention.dropout", "0"},
                     {"position", "rope"},
                     {"training.steps", "3"},
                     {"training.batch", "32"},
                     {"training.precision", "fp32"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    settings = default_settings(all);
  }
};

}  // namespace

TEST_CASE("a small model learns to copy, and is tested at twice the length") {
  const ProbeRun run(Overrides{{"training.steps", "800"},
                               {"training.learning_rate", "3e-3"},
                               {"training.beta2", "0.98"},
                               {"training.warmup", "50"},
                               {"training.schedule", "linear"},
                               {"training.validate_every", "200"}});
  const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
  const auto figures = summary.validations.back().figures;
  CHECK(figures.at("accuracy") > 0.9);  // of whole answers; an untrained one has none
  CHECK(figures.at("symbol_accuracy") > 0.98);
  CHECK(figures.at("symbol_accuracy_at_x2") < figures.at("symbol_accuracy"));
  CHECK(figures.at("accuracy_at_x2") <= figures.at("symbol_accuracy_at_x2"));
  CHECK(figures.contains("loss"));
  CHECK_FALSE(figures.contains("accuracy_at_x4"));
}

TEST_CASE("a small encoder learns to copy into masked positions") {
  const ProbeRun run(Overrides{{"task", "masked_probe"},
                               {"training.steps", "600"},
                               {"training.learning_rate", "3e-3"},
                               {"training.beta2", "0.98"},
                               {"training.warmup", "50"},
                               {"training.schedule", "linear"},
                               {"training.validate_every", "200"}});
  const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
  const auto figures = summary.validations.back().figures;
  CHECK(figures.at("accuracy") > 0.9);
  CHECK(figures.at("symbol_accuracy") > 0.98);
  CHECK(figures.at("symbol_accuracy_at_x2") < figures.at("symbol_accuracy"));
  CHECK(figures.contains("accuracy_at_x2"));
}

TEST_CASE("every kind of masked probe trains, and none of its answers is to be seen") {
  for (const std::string kind : {"copy", "reverse", "passkey", "addition", "dyck", "recall"}) {
    CAPTURE(kind);
    const ProbeRun run(Overrides{{"task", "masked_probe"},
                                 {"probe.kind", kind},
                                 {"data.length", "24"},
                                 {"training.learning_rate", "1e-9"}});
    const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
    CHECK(summary.validations.back().figures.at("accuracy") < 0.7);
  }
}

TEST_CASE("every kind of probe trains under every sort of position, tables included") {
  for (const std::string kind : {"copy", "reverse", "passkey", "addition", "dyck", "recall"}) {
    CAPTURE(kind);
    const ProbeRun run(Overrides{{"probe.kind", kind}, {"data.length", "24"}});
    CHECK(train_run(run.settings, ExistingRun::refuse).validations.size() >= 1);
  }
  for (const std::string position : {"learned", "t5", "alibi", "tupe", "cope"}) {
    CAPTURE(position);
    const ProbeRun run(Overrides{{"position", position},
                                 {"data.length", "200"},
                                 {"probe.longest", "4"},
                                 {"probe.examples", "4"},
                                 {"training.batch", "2"}});
    const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
    CHECK(summary.validations.back().figures.contains("accuracy_at_x4"));
  }
}

TEST_CASE("a probe's run goes on as if it had not been interrupted") {
  const ProbeRun whole(Overrides{{"training.steps", "6"},
                                 {"training.schedule", "constant"},
                                 {"training.warmup", "0"},
                                 {"training.warmup_ratio", "0"}});
  const TrainingSummary once = train_run(whole.settings, ExistingRun::refuse);
  const ProbeRun parts(Overrides{{"training.steps", "3"},
                                 {"training.schedule", "constant"},
                                 {"training.warmup", "0"},
                                 {"training.warmup_ratio", "0"}});
  train_run(parts.settings, ExistingRun::refuse);
  Settings longer = parts.settings;
  longer.training.steps = whole.settings.training.steps;
  const TrainingSummary resumed = train_run(longer, ExistingRun::resume);
  CHECK(resumed.validations.back().figures.at("loss") ==
        once.validations.back().figures.at("loss"));
}

TEST_CASE("what a probe cannot be is said") {
  CHECK_THROWS_WITH(
      train_run(ProbeRun(Overrides{{"data.length", "4"}, {"probe.kind", "addition"}}).settings,
                ExistingRun::refuse),
      "data.length: 4 does not hold the smallest question of addition (hint: at least "
      "7)");
  CHECK_THROWS_WITH(train_run(ProbeRun(Overrides{{"data.length", "256"},
                                                 {"probe.longest", "8"},
                                                 {"probe.kind", "recall"}})
                                  .settings,
                              ExistingRun::refuse),
                    "probe.longest: 8 times data.length 256 is more than the longest question of "
                    "recall (hint: at most 978 characters)");
  CHECK_THROWS_AS(ProbeRun(Overrides{{"training.steps", "2e"}}), Error);
}
