// The encoder's shortcuts against the long way.
#include "model/transformer_stack.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "catch.h"
#include "config/schemes/explicit_positions.h"
#include "distance.h"
#include "model/heads.h"
#include "tensor/finite_check.h"

using namespace roformer;

namespace {

StackSettings small(const std::string& scheme, NormPlacement norm = NormPlacement::post) {
  StackSettings settings;
  settings.model = {.layers = 2, .width = 16, .heads = 2, .feed_forward = 24, .vocabulary = 50};
  settings.model.norm = norm;
  settings.model.initialization = 0.3;
  settings.position.scheme = scheme;
  settings.training_length = 32;
  return settings;
}

at::Tensor ids(std::int64_t count) {
  at::manual_seed(3);
  return at::randint(50, {count}, at::kLong);
}

}  // namespace

TEST_CASE("computing the last layer at the wanted rows only changes nothing") {
  const auto norm = GENERATE(NormPlacement::post, NormPlacement::pre);
  ParameterStore parameters(1, at::kDouble);
  const TransformerStack encoder(small("rope", norm), parameters);
  const LanguageHead head(encoder, parameters);
  parameters.flatten();
  const TokenLayout layout = TokenLayout::uniform(2, 6);
  const at::Tensor rows = at::tensor({1, 4, 7, 11}, at::kLong);
  const at::Tensor labels = at::tensor({9, 8, 7, 6}, at::kLong);
  const auto gradient = [&](bool shortcut) {
    parameters.zero_gradients();
    const at::Tensor states =
        shortcut ? encoder.forward({.ids = ids(12), .layout = layout, .rows = rows})
                 : at::index_select(encoder.forward({.ids = ids(12), .layout = layout}), 0, rows);
    head.loss(states, labels).loss_sum.backward();
    return parameters.flat_gradients().clone();
  };
  CHECK(distance(gradient(true), gradient(false)) < 1e-10);
}

TEST_CASE("a check names the first layer whose output is not finite") {
  ParameterStore parameters(1, at::kDouble);
  const TransformerStack encoder(small("rope"), parameters);
  parameters.flatten();
  const TokenLayout layout = TokenLayout::uniform(2, 6);
  const auto first_bad = [&](const std::string& damaged) {
    const at::NoGradGuard no_gradient;
    at::Tensor kept, weight;
    if (!damaged.empty()) {
      weight = parameters.find(damaged)->value;
      kept = weight.clone();
      weight.fill_(std::numeric_limits<double>::infinity());
    }
    std::string found;
    {
      const FiniteCheck check;
      encoder.forward({.ids = ids(12), .layout = layout});
      found = check.first();
    }
    if (weight.defined()) weight.copy_(kept);
    return found;
  };
  CHECK(first_bad("").empty());
  CHECK(first_bad("embedding.tokens.weight") == "embedding");
  CHECK(first_bad("layers.0.attention.query_key_value.weight") == "layers.0.attention");
  CHECK(first_bad("layers.0.attention.output.weight") == "layers.0.attention.output");
  CHECK(first_bad("layers.1.feed_forward.inner.weight") == "layers.1.feed_forward");
  CHECK(first_bad("layers.1.feed_forward.norm.weight") == "layers.1.feed_forward.output");
  CHECK(first_bad("").empty());
}

TEST_CASE("sequences end to end without padding equal each sequence alone") {
  const std::string scheme = GENERATE("rope", "sinusoidal", "learned", "none");
  CAPTURE(scheme);
  ParameterStore parameters(1, at::kDouble);
  StackSettings settings = small(scheme);
  settings.causal = GENERATE(false, true);
  const TransformerStack encoder(settings, parameters);
  parameters.flatten();
  const std::vector<std::int64_t> lengths{5, 3, 3, 9};
  const at::Tensor all = ids(20);
  const at::Tensor together =
      encoder.forward({.ids = all, .layout = TokenLayout::of_lengths(lengths)});
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    const at::Tensor alone = encoder.forward(
        {.ids = all.narrow(0, begin, length), .layout = TokenLayout::uniform(1, length)});
    CHECK(distance(together.narrow(0, begin, length), alone) < 1e-12);
    begin += length;
  }
}

TEST_CASE("a new parameter changes no other's initial numbers") {
  ParameterStore first(7), second(7);
  const TransformerStack with_table(small("learned"), first), without(small("none"), second);
  CHECK(at::equal(first.find("layers.1.feed_forward.inner.weight")->value,
                  second.find("layers.1.feed_forward.inner.weight")->value));
  CHECK(first.count() - second.count() == 512 * 16);
}

TEST_CASE("initial weights have BERT's distribution") {
  ParameterStore parameters(7);
  StackSettings settings = small("none");
  settings.model.initialization = 0.02;
  settings.model.width = 64;
  settings.model.vocabulary = 2000;
  const TransformerStack encoder(settings, parameters);
  const at::Tensor table = parameters.find("embedding.tokens.weight")->value;
  CHECK(table.abs().max().item<double>() <= 0.04);
  // A normal cut at two standard deviations keeps 0.8796 of its deviation.
  CHECK(table.std().item<double>() == Approx(0.02 * 0.8796).epsilon(0.02));
}

TEST_CASE("training in bfloat16 follows float32") {
  ParameterStore parameters(1);
  StackSettings settings = small("rope");
  settings.model.initialization = 0.1;
  const TransformerStack encoder(settings, parameters);
  parameters.flatten();
  const TokenLayout layout = TokenLayout::uniform(2, 8);
  const at::Tensor exact = encoder.forward({.ids = ids(16), .layout = layout});
  const at::Tensor rough =
      encoder.forward({.ids = ids(16), .layout = layout, .precision = Precision::bf16});
  CHECK(rough.scalar_type() == at::kBFloat16);
  CHECK(distance(exact, rough.to(at::kFloat)) < 0.1);
}

TEST_CASE("each sequence of a batch stands where it was drawn, beside longer ones") {
  const auto form = GENERATE(ExplicitForm::rope, ExplicitForm::sinusoidal, ExplicitForm::learned);
  const auto draw = GENERATE(PositionDraw::randomized, PositionDraw::shape, PositionDraw::cape);
  if (form == ExplicitForm::learned && draw == PositionDraw::cape) return;  // refused
  StackSettings settings = small("explicit_positions");
  settings.model.dropout = settings.attention.dropout = 0;
  settings.position.of<ExplicitPositionsSettings>() = {
      .draw = draw, .form = form, .positions = 90, .initialization = 0.5};
  ParameterStore parameters(1, at::kDouble);
  const TransformerStack encoder(settings, parameters);
  parameters.flatten();
  const at::NoGradGuard no_gradient;
  const at::Tensor text = ids(20);
  const TokenLayout ragged = TokenLayout::of_lengths(std::vector<std::int64_t>{8, 5, 7});
  const auto states = [&](bool training, std::uint64_t key) {
    return encoder.forward(
        {.ids = text, .layout = ragged, .training = training, .dropout_key = key});
  };
  // The first sequence's place is the batch's key's and its own.
  const TokenLayout first = TokenLayout::uniform(1, 8);
  const at::Tensor drawn = encoder.forward(
      {.ids = text.narrow(0, 0, 8), .layout = first, .training = true, .dropout_key = 4});
  CHECK(distance(drawn, states(true, 4).narrow(0, 0, 8)) < 1e-12);
  // Only distances count for rotations, which one offset does not change.
  const bool moves = form != ExplicitForm::rope || draw != PositionDraw::shape;
  CHECK((distance(states(true, 4), states(true, 5)) > 1e-3) == moves);
  // Outside of training all stand as they do alone.
  const at::Tensor together = states(false, 4);
  std::int64_t begin = 0;
  for (const std::int64_t length : {8, 5, 7}) {
    const TokenLayout alone = TokenLayout::uniform(1, length);
    CHECK(distance(together.narrow(0, begin, length),
                   encoder.forward({.ids = text.narrow(0, begin, length), .layout = alone})) <
          1e-12);
    begin += length;
  }
}
