// Schemes written as formulas against the built-in ones: biases and gradients, in the types that
// models are trained in.
#include "config/formula/parameters.h"

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "config/schema.h"
#include "config/schemes/alibi.h"
#include "config/schemes/formula.h"
#include "config/schemes/kerple.h"
#include "position/relative_index.h"
#include "position/scheme.h"

using namespace roformer;

namespace {

constexpr std::int64_t kFormulaHeads = 6, kFormulaLayers = 2;

struct MadeScheme {
  MadeScheme(const PositionSettings& settings, bool causal, at::ScalarType type = at::kFloat)
      : parameters(3, type) {
    scheme = make_scheme({.settings = settings,
                          .shape = {.layers = kFormulaLayers,
                                    .width = 24,
                                    .heads = kFormulaHeads,
                                    .head_width = 4,
                                    .causal = causal,
                                    .training_length = 512,
                                    .type = type},
                          .parameters = parameters});
  }
  ParameterStore parameters;
  std::unique_ptr<PositionScheme> scheme;
};

PositionSettings from_library(const std::string& name) {
  Settings settings;
  settings.position.scheme = "formula";
  for (const SchemeOption& option : read_formula("formulas.yaml#" + name, CONFIGS)) {
    find_key("position.formula." + option.option)->set(settings, option.text, {});
  }
  return settings.position;
}

PositionSettings of_text(const std::string& option, const std::string& formula,
                         const std::string& parameters = "") {
  Settings settings;
  settings.position.scheme = "formula";
  find_key("position.formula." + option)->set(settings, formula, {});
  find_key("position.formula.parameters")->set(settings, parameters, {});
  return settings.position;
}

AttentionContext context_of(std::int64_t queries, std::int64_t keys, bool causal,
                            at::ScalarType type = at::kFloat, std::int64_t layer = 1) {
  return {.queries = Positions::range(keys - queries, queries),
          .keys = Positions::range(0, keys),
          .layer = layer,
          .causal = causal,
          .type = type};
}

// The parameter of the same name, else of the same place.
at::Tensor same_of(const MadeScheme& left, const MadeScheme& right, std::size_t place) {
  const Parameter* const named = right.parameters.find(left.parameters.all()[place].spec.name);
  return named ? named->value : right.parameters.all()[place].value;
}

struct Difference {
  double bias = 0, gradient = 0;
};

// The largest differences of what is visible and of the parameters' gradients, which stand in the
// same order in both; a table [entries, H] beside one [H, entries] is turned.
// The bias is used in `precision`.
Difference difference(const MadeScheme& left, const MadeScheme& right,
                      const AttentionContext& context, at::ScalarType precision = at::kFloat) {
  at::manual_seed(8);
  std::vector<at::Tensor> biases;
  const at::Tensor slopes =
      at::randn({1, kFormulaHeads, context.queries.count(), context.keys.count()}, at::kDouble);
  for (const MadeScheme* made : {&left, &right}) {
    at::Tensor bias = made->scheme->bias(context);
    REQUIRE(bias.scalar_type() == context.type);
    if (context.causal) {
      const at::Tensor hidden =
          context.queries.tensor().unsqueeze(1) < context.keys.tensor().unsqueeze(0);
      bias = bias.masked_fill(hidden, 0);
    }
    if (bias.requires_grad()) (bias.to(precision) * slopes.to(precision)).sum().backward();
    biases.push_back(bias.detach().to(at::kDouble));
  }
  Difference result{.bias = (biases[0] - biases[1]).abs().max().item<double>()};
  REQUIRE(left.parameters.all().size() == right.parameters.all().size());
  for (std::size_t i = 0; i < left.parameters.all().size(); ++i) {
    const at::Tensor a = left.parameters.all()[i].value.grad();
    at::Tensor b = same_of(left, right, i).grad();
    REQUIRE(a.defined() == b.defined());
    if (!a.defined()) continue;
    if (a.sizes() != b.sizes()) b = b.t();
    REQUIRE(a.abs().max().item<double>() > 0);
    const double size = a.to(at::kDouble).abs().max().item<double>();
    result.gradient = std::max(
        result.gradient, (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() / size);
  }
  return result;
}

// Parameters get the same numbers in both.
void share(const MadeScheme& left, const MadeScheme& right, double low, double high) {
  for (std::size_t i = 0; i < left.parameters.all().size(); ++i) {
    at::Tensor a = left.parameters.all()[i].value.detach();
    at::Tensor b = same_of(left, right, i).detach();
    a.copy_(at::rand(a.sizes(), at::kFloat) * (high - low) + low);
    b.copy_(a.sizes() == b.sizes() ? a : a.t());
  }
}

}  // namespace

TEST_CASE("formulas without parameters are the built-in biases to the last bit") {
  for (const bool causal : {false, true}) {
    PositionSettings alibi("alibi");
    alibi.of<AlibiSettings>().variant = causal ? AlibiVariant::causal : AlibiVariant::symmetric;
    INFO((causal ? "causal" : "both sides"));
    for (const auto& [queries, keys] : {std::pair(65, 65), std::pair(1, 40), std::pair(7, 30)}) {
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        const AttentionContext context = context_of(queries, keys, causal, type);
        CHECK(difference(MadeScheme(alibi, causal), MadeScheme(from_library("alibi"), causal),
                         context)
                  .bias == 0);
        // The sum over 64 cosines is taken in another order, in float64.
        CHECK(difference(MadeScheme(PositionSettings("sandwich"), causal),
                         MadeScheme(from_library("sandwich"), causal), context)
                  .bias < (type == at::kDouble ? 1e-12 : 1e-6));
      }
    }
  }
}

TEST_CASE("trained formulas are the built-in biases with their gradients") {
  const auto compare = [](const PositionSettings& own, const std::string& formula, bool causal,
                          double bound, at::ScalarType type) {
    INFO(formula << (causal ? ", causal" : "") << ", " << type);
    const MadeScheme left(own, causal), right(from_library(formula), causal);
    share(left, right, 0.2, 1.5);
    const Difference all = difference(left, right, context_of(150, 150, causal), type);
    CHECK(all.bias <= bound);
    CHECK(all.gradient <= 1e-5);
    const MadeScheme one(own, causal), other(from_library(formula), causal);
    share(one, other, 0.2, 1.5);
    CHECK(difference(one, other, context_of(3, 140, causal), type).bias <= bound);
  };
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const bool causal : {false, true}) {
      compare(PositionSettings("kerple"), "kerple", causal, 0, type);
      PositionSettings power("kerple");
      power.of<KerpleSettings>().variant = KerpleVariant::power;
      compare(power, "kerple_power", causal, 1e-3, type);
      compare(PositionSettings("t5"), causal ? "t5" : "t5_encoder", causal, 0, type);
    }
  }
}

TEST_CASE("the formula of a window hides what the window hides") {
  const MadeScheme made(from_library("window"), true);
  const AttentionContext context = context_of(300, 300, true);
  const at::Tensor bias = made.scheme->bias(context).select(1, 0).squeeze(0);
  const at::Tensor distance =
      context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0);
  CHECK(at::equal(bias < -1e29, distance >= 256));
}

TEST_CASE("a score as a formula is the score with its bias, and gradients flow through it") {
  at::manual_seed(2);
  const AttentionContext context = context_of(12, 12, true, at::kDouble);
  const MadeScheme made(of_text("score", "score * (1 + log(i + 1)) - slope[layer, h] * abs(i - j)",
                                "{slope: {per: layer_head, initial: \"0.1 * (h + 1)\"}}"),
                        true, at::kDouble);
  REQUIRE(made.scheme->capabilities().scores != ContentScores::none);
  const at::Tensor scores =
      at::randn({2, kFormulaHeads, 12, 12}, at::kDouble).set_requires_grad(true);
  const at::Tensor result = made.scheme->scores(context, {.scores = scores});
  const at::Tensor i = at::arange(12, at::kDouble).view({12, 1}), j = i.t();
  const at::Tensor slopes =
      0.1 * at::arange(1, kFormulaHeads + 1, at::kDouble).view({kFormulaHeads, 1, 1});
  const at::Tensor wanted = scores * (1 + at::log(i + 1)) - slopes.to(at::kFloat) * (i - j).abs();
  const at::Tensor visible = (i >= j).expand_as(result);
  CHECK((result - wanted).masked_fill(visible.logical_not(), 0).abs().max().item<double>() < 1e-5);
  result.masked_fill(visible.logical_not(), 0).sum().backward();
  CHECK(scores.grad().defined());
  CHECK(made.parameters.all()[kFormulaLayers - 1].value.grad().abs().min().item<double>() > 1);
}

TEST_CASE("positions as such, gaps and lengths reach a formula") {
  const auto bias = [](const std::string& formula, const Positions& positions) {
    const MadeScheme made(of_text("bias", formula), false, at::kDouble);
    return made.scheme
        ->bias({.queries = positions, .keys = positions, .layer = 1, .type = at::kDouble})
        .select(1, 2)
        .squeeze(0);
  };
  const Positions gaps = Positions::of({0, 1, 5, 9});
  const at::Tensor i = gaps.tensor().to(at::kDouble).unsqueeze(1), j = i.t();
  CHECK(at::allclose(bias("i * j + h + layer", gaps), i * j + 3));
  CHECK(at::allclose(bias("(i - j)^2 / layers", gaps), (i - j).pow(2) / 2));
  CHECK(at::allclose(
      bias("where(i < j, length, heads)", gaps),
      at::where(i < j, at::full({}, 4.0, at::kDouble), at::full({}, 6.0, at::kDouble))));
  CHECK(at::allclose(bias("sum(t, 1, 3, t * (i - j)) % 4", gaps), at::remainder(6 * (i - j), 4)));
}

TEST_CASE("entries beside a table are refused or clamped") {
  const std::string table = "{entry: {size: 4, initial: index, outside: ";
  const AttentionContext context = context_of(9, 9, true);
  const MadeScheme strict(of_text("bias", "entry[i - j]", table + "refuse}}"), true);
  CHECK_THROWS_AS(strict.scheme->bias(context), Error);
  const MadeScheme mild(of_text("bias", "entry[i - j]", table + "clamp}}"), true);
  const at::Tensor last = mild.scheme->bias(context).select(1, 0).select(1, 8).squeeze(0);
  CHECK(last.select(0, 0).item<double>() == 3);
  CHECK(last.select(0, 6).item<double>() == 2);
  // An index of each head's own.
  const MadeScheme heads(of_text("bias", "entry[min(h, 3)] + 0 * i", table + "refuse}}"), true);
  CHECK(heads.scheme->bias(context).select(1, 2).max().item<double>() == 2);
}

TEST_CASE("constants of a formula are made once and bounds hold before a step") {
  const MadeScheme made(from_library("sandwich"), false);
  const at::Tensor distances = distances_of({.least = -19, .count = 39});
  const at::Tensor first =
      made.scheme->bias_at(context_of(20, 20, false, at::kFloat, 0), distances);
  CHECK(first.is_same(made.scheme->bias_at(context_of(20, 20, false, at::kFloat, 1), distances)));
  MadeScheme kept(of_text("bias", "slope * (i - j)", "{slope: {initial: 5, least: 0.5, most: 2}}"),
                  false);
  kept.parameters.apply_constraints();
  CHECK(kept.parameters.all()[0].value.item<double>() == 2);
}
