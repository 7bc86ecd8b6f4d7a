// A run opened again: its weights, what may be changed about it, and what it says about masks.
#include "runs/trained_model.h"
#include "config/schemes/rerope.h"
#include "config/schemes/rope.h"

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "catch.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "tasks/language/fill_mask.h"
#include "tasks/language/language_evaluation.h"
#include "tasks/untrained.h"

using namespace roformer;

namespace {

std::string message(const TinyRun& run, const TrainedModelOptions& options) {
  try {
    open_run_of<LanguageModel>(run.run(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a trained model evaluates to the loss that its training reported") {
  const TinyRun run("rope");
  const TrainingSummary summary = train_run(run.settings, ExistingRun::refuse);
  REQUIRE(summary.best() != nullptr);
  const TrainedModel trained = open_run_of<LanguageModel>(run.run());
  const Dataset dataset(run.data());
  const LanguageEvaluation found =
      evaluate_language_model(*trained.model, trained.settings, dataset);
  CHECK(found.loss == Approx(summary.best()->figures.at("loss")).epsilon(1e-6));

  SECTION("options without parameters may be changed") {
    const TrainedModel scaled = open_run_of<LanguageModel>(
        run.run(), {.overrides = {{"position.scaling", "linear"}, {"position.factor", "4"}}});
    CHECK(evaluate_language_model(*scaled.model, scaled.settings, dataset).loss != found.loss);
    // Within its window ReRoPE is RoPE, with the trained layout.
    const TrainedModel rerope =
        open_run_of<LanguageModel>(run.run(), {.overrides = {{"position", "rerope"}}});
    CHECK(rerope.settings.position.of<ReropeSettings>().layout ==
          trained.settings.position.of<RopeSettings>().layout);
    CHECK(evaluate_language_model(*rerope.model, rerope.settings, dataset).loss ==
          Approx(found.loss).epsilon(1e-5));
    CHECK_NOTHROW(
        open_run_of<LanguageModel>(run.run(), {.overrides = {{"attention.window", "8"}}}));
  }
  SECTION("what changes the parameters, or is not asked of a trained model, is refused in words") {
    const std::string scheme = message(run, {.overrides = {{"position", "t5"}}});
    CHECK(has(scheme, "--position t5"));
    CHECK(has(scheme, "parameters differ"));
    CHECK(has(message(run, {.overrides = {{"model.width", "64"}}}), "--model.width"));
    CHECK(has(message(run, {.checkpoint = "77"}), "77"));
  }
  SECTION("each mask has its predictions") {
    const auto predictions = fill_mask(trained, "Click [MASK]he [MASK] [CLS]", 3);
    REQUIRE(predictions.size() == 2);
    for (const auto& mask : predictions) {
      REQUIRE(mask.size() == 3);
      CHECK(mask[0].probability >= mask[1].probability);
      for (const MaskPrediction& prediction : mask) {
        CHECK(prediction.probability > 0);
        CHECK(!trained.tokenizer->is_special(prediction.id));
      }
    }
    CHECK(has(predictions[1][0].filled, "Click [MASK]he "));
    CHECK(has(predictions[0][0].filled, "he [MASK] [CLS]"));
    CHECK(fill_mask(trained, "no mask", 3).empty());
  }
}

TEST_CASE("a trained model computes in fp32 whatever it was trained in, unless it is told") {
  const TinyRun run("rope", {{"training.precision", "bf16"}});
  train_run(run.settings, ExistingRun::refuse);
  CHECK(open_run_of<LanguageModel>(run.run()).model->plan().precision == Precision::fp32);
  const TrainedModel told =
      open_run_of<LanguageModel>(run.run(), {.overrides = {{"training.precision", "bf16"}}});
  CHECK(told.model->plan().precision == Precision::bf16);
}

TEST_CASE("a text beyond a table is refused before it is computed") {
  const TinyRun run("learned", {{"position.length", "40"}});
  CHECK_NOTHROW(require_positions(run.settings, "--length", 40));
  CHECK_THROWS_AS(require_positions(run.settings, "--length", 41), Error);
  CHECK_THROWS_AS(require_positions(run.settings, "--length", 32, 9), Error);
}
