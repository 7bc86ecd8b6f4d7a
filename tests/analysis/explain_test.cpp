// Explanations of tiny models of which it is known what they use.
#include "analysis/explain.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "analysis/explain_report.h"
#include "base/error.h"
#include "catch.h"
#include "config/position_facts.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "runs/tiny_translation.h"
#include "tasks/language/language_evaluation.h"
#include "tasks/translation/translation_evaluation.h"

using namespace roformer;

namespace {

// An untrained model with weights large enough for positions to matter.
struct Explained {
  TinyRun run;
  Dataset dataset;
  TrainedModel trained;

  explicit Explained(const std::string& position, const std::vector<Override>& overrides = {},
                     double gain = 8)
      : run(position, overrides), dataset(run.data()) {
    trained.settings = run.settings;
    trained.model = std::make_unique<LanguageModel>(
        run.settings, dataset.tokenizer().vocabulary_size(), ComputePlan{});
    const c10::AutoGradMode no_gradient(false);
    for (const Parameter& parameter : trained.model->parameters().all()) {
      if (parameter.spec.decay) at::Tensor(parameter.value).mul_(gain);
    }
  }

  at::Tensor parameter(const std::string& name) const {
    return trained.model->parameters().find(name)->value.detach();
  }
  Explanation explain(const ExplainOptions& options = {.sequences = 40}) const {
    return roformer::explain(trained, dataset, options);
  }
  // Of the same weights, evaluated as those of another scheme.
  double loss_with(const std::string& position) const {
    Settings settings = trained.settings;
    settings.position.scheme = position;
    LanguageModel other(settings, dataset.tokenizer().vocabulary_size(), ComputePlan{});
    const c10::AutoGradMode no_gradient(false);
    for (const Parameter& one : other.parameters().all()) {
      at::Tensor(one.value).copy_(parameter(one.spec.name));
    }
    return evaluate_language_model(other, settings, dataset, {.tokens = 40 * 32}).loss;
  }
};

double of_positions(const Explanation& explanation) {
  double sum = 0, count = 0;
  for (const LayerExplanation& layer : explanation.layers) {
    for (const HeadExplanation& head : layer.heads) {
      sum += head.shares.of_positions();
      count += 1;
    }
  }
  return sum / count;
}

std::vector<Override> fitting(const std::string& name) {
  std::vector<Override> overrides;
  if (find_position_facts(name)->causal_only) overrides.push_back({"task", "causal_lm"});
  if (name == "layers") overrides.push_back({"position.layers.schemes", "{0: rope, 1: none}"});
  if (name == "formula") overrides.push_back({"position.formula.bias", "-0.1 * abs(i - j)"});
  return overrides;
}

}  // namespace

TEST_CASE("models of every scheme are explained") {
  for (const std::string& name : position_names()) {
    DYNAMIC_SECTION(name) {
      const Explained one(name, fitting(name));
      const Explanation found = one.explain({.sequences = 6});
      REQUIRE(found.layers.size() == 2);
      CHECK(found.sequences == 6);
      CHECK(std::isfinite(found.without_positions.change));
      for (const LayerExplanation& layer : found.layers) {
        REQUIRE(layer.heads.size() == 2);
        for (const HeadExplanation& head : layer.heads) {
          CHECK(head.shares.content_content + head.shares.of_positions() == Approx(1).margin(1e-4));
          CHECK(std::isfinite(head.without_positions.change));
        }
        const AttentionMasses& masses = layer.masses;
        CHECK((masses.by_distance.sum(1) - 1).abs().max().item<double>() < 1e-5);
        for (const at::Tensor* const error : {&masses.range_error, &masses.entropy_error,
                                              &masses.previous_error, &masses.first_error}) {
          CHECK(error->isfinite().all().item<bool>());
          CHECK(error->max().item<double>() > 0);
          CHECK(error->max().item<double>() < 2);
        }
        // Stick-breaking's tokens do not see themselves.
        const bool sees_itself = masses.uniform[masses.length - 1].item<double>() > 0;
        CHECK(masses.own_error.isfinite().all().item<bool>() == sees_itself);
        if (!layer.frequencies) continue;
        CHECK(layer.frequencies->share_error.max().item<double>() > 0);
        const at::Tensor shares = layer.frequencies->variance_share.sum(1);
        CHECK((shares - 1).abs().max().item<double>() < 1e-4);
      }
    }
  }
}

TEST_CASE("the loss of the rows is that of an evaluation, probed or not") {
  for (const char* const task : {"mlm", "causal_lm"}) {
    const Explained one("fox", {{"task", "causal_lm"}});
    const Explained two("deberta", {{"task", task}});
    for (const Explained* const each : {&one, &two}) {
      const double loss = evaluate_language_model(*each->trained.model, each->trained.settings,
                                                  each->dataset, {.tokens = 40 * 32})
                              .loss;
      CHECK(each->explain({.sequences = 40, .ablations = false}).loss ==
            Approx(loss).epsilon(1e-5));
    }
  }
}

TEST_CASE("a model without positions uses none, and loses nothing without them") {
  const Explained one("none");
  const Explanation found = one.explain();
  CHECK(of_positions(found) < 0.02);
  CHECK(std::abs(found.without_positions.change) < 1e-5);
  for (const LayerExplanation& layer : found.layers) {
    CHECK(std::abs(layer.without_positions.change) < 1e-5);
    CHECK(!layer.frequencies);
    for (const HeadExplanation& head : layer.heads) {
      CHECK(std::abs(head.without_positions.change) < 1e-5);
    }
  }
}

TEST_CASE("a table of positions counts as far as it is there") {
  const Explained one("learned");
  at::Tensor table = one.parameter("position.table");
  table.zero_();
  const Explanation nothing = one.explain();
  CHECK(of_positions(nothing) < 0.02);
  CHECK(std::abs(nothing.without_positions.change) < 2e-3);
  Random random(1);
  for (std::int64_t i = 0; i < table.numel(); ++i) table.view({-1})[i] = 4 * random.normal();
  const Explanation all = one.explain();
  CHECK(of_positions(all) > 0.5);
  CHECK(std::abs(all.without_positions.change) > 4e-3);
}

TEST_CASE("steep biases are all that there is of the scores") {
  const Explained one("t5", {{"task", "causal_lm"}});
  one.parameter("position.bias").mul_(1e4);
  CHECK(of_positions(one.explain({.sequences = 8, .ablations = false})) > 0.99);
}

TEST_CASE("without positions the weights are those of a model without") {
  for (const char* const scheme : {"rope", "alibi", "xpos"}) {
    for (const char* const task : {"mlm", "causal_lm"}) {
      DYNAMIC_SECTION(scheme << " " << task) {
        const std::string name = scheme;
        if (name == "xpos" && std::string(task) == "mlm") continue;
        const Explained one(name, {{"task", task},
                                   {"position.alibi.variant",
                                    std::string(task) == "mlm" ? "symmetric" : "causal"}});
        const Explanation found = one.explain();
        CHECK(found.loss + found.without_positions.change ==
              Approx(one.loss_with("none")).epsilon(1e-5));
        CHECK(std::abs(found.without_positions.change) > 1e-4);
        CHECK(found.without_positions.standard_error > 0);
      }
    }
  }
}

TEST_CASE("the only head of a layer is the layer, and a head's loss is not another's") {
  const Explained one("rope", {{"model.heads", "1"}});
  for (const LayerExplanation& layer : one.explain({.sequences = 10}).layers) {
    CHECK(layer.heads[0].without_positions.change ==
          Approx(layer.without_positions.change).margin(1e-6));
  }
  // A head whose queries are nothing has no scores to lose.
  const Explained two("rope");
  two.parameter("layers.0.attention.query_key_value.weight").narrow(0, 16, 16).zero_();
  const std::vector<HeadExplanation> heads = two.explain({.sequences = 10}).layers[0].heads;
  CHECK(std::abs(heads[0].without_positions.change) > 1e-4);
  CHECK(std::abs(heads[1].without_positions.change) < 1e-6);
}

TEST_CASE("attention is where it is known to be") {
  const Explained even("none", {{"task", "causal_lm"}}, 0);
  const Explanation flat = even.explain({.sequences = 4, .ablations = false});
  const AttentionMasses& masses = flat.layers[0].masses;
  CHECK((masses.by_distance - masses.uniform).abs().max().item<double>() < 1e-6);
  double entropy = 0;
  for (int n = 1; n <= 32; ++n) entropy += std::log(n) / 32;
  CHECK(masses.entropy[0].item<double>() == Approx(entropy).epsilon(1e-5));
  // All texts say the same, and one alone does not tell.
  for (const at::Tensor* const error :
       {&masses.range_error, &masses.entropy_error, &masses.own_error, &masses.first_error}) {
    CHECK(error->max().item<double>() < 1e-6);
  }
  CHECK(std::isnan(even.explain({.sequences = 1, .ablations = false})
                       .layers[0]
                       .masses.own_error[0]
                       .item<double>()));

  const Explained steep("t5", {{"task", "causal_lm"}}, 0);
  at::Tensor bias = steep.parameter("position.bias");  // a bucket a distance while they are short
  bias.zero_();
  bias[1].fill_(50);
  bias.select(0, 0).fill_(-50);
  const Explanation before = steep.explain({.sequences = 4, .ablations = false});
  CHECK(before.layers[0].masses.previous[0].item<double>() == Approx(1).epsilon(1e-5));
  CHECK(before.layers[0].masses.own[0].item<double>() == Approx(1.0 / 32).epsilon(1e-3));
  CHECK(before.layers[0].masses.first[0].item<double>() == Approx(1.0 / 31).epsilon(1e-3));
}

TEST_CASE("pairs of features share the scores' variance with what is not rotated") {
  for (const char* const fraction : {"1", "0.5"}) {
    CAPTURE(fraction);
    const Explained one("rope", {{"position.rope.fraction", fraction}});
    const Explanation found = one.explain({.sequences = 8, .ablations = false});
    const FrequencyUse& use = *found.layers[0].frequencies;
    const std::int64_t pairs = fraction[0] == '1' ? 8 : 4;
    REQUIRE(std::ssize(use.wavelengths) == pairs);
    CHECK(use.wavelengths[0] == Approx(2 * 3.14159265).epsilon(1e-4));
    CHECK(use.wavelengths[1] > use.wavelengths[0]);
    const double rest = use.variance_share[0][pairs].item<double>();
    if (pairs == 8) {
      CHECK(std::abs(rest) < 1e-6);
    } else {
      CHECK(rest > 0.05);
      CHECK(rest < 0.95);
    }
  }
}

namespace {

// Likewise of a translator.
struct ExplainedTranslator {
  TinyTranslation tiny{10};
  ParallelDataset dataset{tiny.data()};
  TrainedTranslator trained;

  explicit ExplainedTranslator(const std::string& position,
                               const std::vector<Override>& overrides = {}) {
    std::vector<Override> all = {{"position", position}, {"model.layers", "2"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    trained.settings = tiny.settings("run", all);
    const std::int64_t words = dataset.tokenizer(Side::source).vocabulary_size();
    trained.model = std::make_unique<Translator>(
        trained.settings, TranslationVocabularies{.source = words, .target = words}, ComputePlan{});
    const c10::AutoGradMode no_gradient(false);
    for (const Parameter& parameter : trained.model->parameters().all()) {
      if (parameter.spec.decay) at::Tensor(parameter.value).mul_(4);
    }
  }
  Explanation explain(const ExplainOptions& options = {.sequences = 20}) const {
    return roformer::explain(trained, dataset, options);
  }
};

}  // namespace

TEST_CASE("translators of every scheme are explained, both stacks") {
  for (const std::string& name : position_names()) {
    if (find_position_facts(name)->causal_only) continue;
    DYNAMIC_SECTION(name) {
      const ExplainedTranslator one(name, fitting(name));
      const Explanation found = one.explain({.sequences = 8});
      CHECK(found.sequences == 8);
      REQUIRE(found.layers.size() == 4);
      CHECK(found.ablated == (name != "none"));
      if (name == "none") {
        CHECK(found.ablation == std::vector<std::string>{"it has no positions to switch off"});
        return;
      }
      REQUIRE(found.stacks.size() == 2);
      CHECK(found.layers[0].layer.title() == "encoder layer 0");
      CHECK(found.layers[3].layer.name() == "decoder 1");
      CHECK(std::isfinite(found.without_positions.change));
      for (const LayerExplanation& layer : found.layers) {
        const at::Tensor mass = layer.masses.by_distance.sum(1);
        CHECK((mass - 1).abs().max().item<double>() < 1e-5);
        for (const HeadExplanation& head : layer.heads) {
          CHECK(head.shares.content_content + head.shares.of_positions() == Approx(1).margin(1e-4));
          CHECK(std::isfinite(head.without_positions.change));
        }
      }
      // A decoder looks back only.
      const at::Tensor& distances = found.layers[3].masses.by_distance;
      CHECK(distances.narrow(1, 0, found.layers[3].masses.length - 1).max().item<double>() == 0);
    }
  }
}

TEST_CASE("the loss of the pairs is the validation's, probed or not") {
  const ExplainedTranslator one("deberta");
  const std::int64_t all = one.dataset.sentences(Split::validation);
  const double loss = evaluate_translator(*one.trained.model, one.trained.settings, one.dataset,
                                          Split::validation, *make_single_process())
                          .loss;
  const Explanation found = one.explain({.sequences = all, .ablations = false});
  CHECK(found.sequences == all);
  CHECK(found.loss == Approx(loss).epsilon(1e-5));
}

TEST_CASE("a stack without positions loses nothing without them") {
  const ExplainedTranslator one("rope", {{"model.layers", "1"}, {"position.decoder", "none"}});
  const Explanation found = one.explain();
  CHECK(std::abs(found.stacks[0].without_positions.change) > 1e-4);
  CHECK(std::abs(found.stacks[1].without_positions.change) < 1e-6);
  CHECK(found.without_positions.change ==
        Approx(found.stacks[0].without_positions.change).margin(1e-6));
  CHECK(found.layers[0].frequencies);
  CHECK(!found.layers[1].frequencies);
  // The encoder's only layer is the encoder.
  CHECK(found.layers[0].without_positions.change ==
        Approx(found.stacks[0].without_positions.change).margin(1e-6));
}

TEST_CASE("what cannot be explained is refused in words") {
  CHECK_THROWS_AS(Explained("learned", {{"position.learned.length", "32"}})
                      .explain({.sequences = 4, .length = 64}),
                  Error);
  const Explained linear("none", {{"attention.kernel", "elu"}});
  try {
    linear.explain();
    FAIL("linear attention has no scores");
  } catch (const Error& error) {
    CHECK(has(error.what(), "linear attention makes no scores"));
  }
}

TEST_CASE("biases are drawn by distance where that is all they depend on") {
  const Explained t5("t5");
  const TrainedPositions drawn = trained_positions(*t5.trained.model);
  REQUIRE(drawn.biases.size() == 1);  // one for all layers
  REQUIRE(drawn.biases[0].by_distance);
  const BiasByDistance& bias = *drawn.biases[0].by_distance;
  CHECK(bias.distances.front() == -31);
  CHECK(bias.distances.back() == 31);
  CHECK(bias.values[1][31] == Approx(t5.parameter("position.bias")[0][1].item<double>()));
  // The key before the query and the one after it, in separate buckets.
  CHECK(bias.values[1][32] == Approx(t5.parameter("position.bias")[1][1].item<double>()));
  CHECK(bias.values[1][30] == Approx(t5.parameter("position.bias")[17][1].item<double>()));
  CHECK(drawn.parameters.size() == 1);
  const TrainedPositions tupe = trained_positions(*Explained("tupe").trained.model);
  REQUIRE(tupe.biases.size() == 1);
  CHECK(!tupe.biases[0].by_distance);
  CHECK(trained_positions(*Explained("rope").trained.model).biases.empty());
}
