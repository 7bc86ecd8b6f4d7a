// Stacks whose layers differ in their scheme or their attention: bitwise what they are made of, and
// the same with a cache.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <string>
#include <vector>

#include "catch.h"
#include "config/position_facts.h"
#include "config/schemes/alibi.h"
#include "config/schemes/formula.h"
#include "config/schemes/layers.h"
#include "config/schemes/t5.h"
#include "distance.h"
#include "model/transformer_stack.h"

using namespace roformer;

namespace {

constexpr std::int64_t kMixedLayers = 4;

StackSettings mixed_stack(const std::string& layers, bool causal) {
  StackSettings settings;
  settings.model = {
      .layers = kMixedLayers, .width = 16, .heads = 2, .feed_forward = 24, .vocabulary = 50};
  settings.model.initialization = 0.3;
  settings.position.scheme = "layers";
  settings.position.of<LayersSettings>().schemes = parse_layer_map(layers);
  settings.position.of<AlibiSettings>().variant =
      causal ? AlibiVariant::causal : AlibiVariant::symmetric;
  settings.position.of<T5Settings>() = {.buckets = 8, .max_distance = 16};
  settings.causal = causal;
  settings.training_length = 32;
  return settings;
}

at::Tensor mixed_ids(std::int64_t count) {
  at::manual_seed(3);
  return at::randint(50, {count}, at::kLong);
}

struct Result {
  at::Tensor output, gradients;
};

Result trained(const StackSettings& settings) {
  ParameterStore parameters(7);
  const TransformerStack stack(settings, parameters);
  parameters.flatten();
  const TokenLayout layout = TokenLayout::of_lengths(std::vector<std::int64_t>{11, 11, 6});
  const at::Tensor output =
      stack.forward({.ids = mixed_ids(28), .layout = layout, .training = true, .dropout_key = 4});
  at::manual_seed(5);
  (output * at::randn(output.sizes())).sum().backward();
  return {.output = output.detach(), .gradients = parameters.flat_gradients().clone()};
}

// Token by token, against the whole text at once.
double distance_with_cache(const StackSettings& settings) {
  const at::NoGradGuard no_gradient;
  ParameterStore parameters(7);
  const TransformerStack stack(settings, parameters);
  parameters.flatten();
  REQUIRE(stack.can_cache());
  const at::Tensor ids = mixed_ids(18);  // two texts of 9
  const at::Tensor whole = stack.forward({.ids = ids, .layout = TokenLayout::uniform(2, 9)})
                               .view({2, 9, settings.model.width});
  AttentionCache cache;
  double worst = 0;
  std::int64_t begin = 0;
  for (const std::int64_t count : {4, 1, 1, 3}) {
    const at::Tensor part = ids.view({2, 9}).narrow(1, begin, count).reshape({-1});
    const at::Tensor step =
        stack.forward({.ids = part, .layout = TokenLayout::uniform(2, count), .cache = &cache})
            .view({2, count, settings.model.width});
    worst = std::max(worst, distance(step, whole.narrow(1, begin, count)));
    begin += count;
    // The texts change places, and back.
    cache.reorder(std::vector<std::int64_t>{1, 0});
    cache.reorder(std::vector<std::int64_t>{1, 0});
  }
  return worst;
}

}  // namespace

TEST_CASE("one scheme in all layers is that scheme to the last bit, with gradients") {
  for (const std::string& name : position_names()) {
    if (name == "layers") continue;
    const bool causal = find_position_facts(name)->causal_only;
    StackSettings alone = mixed_stack("{0-1: " + name + ", others: " + name + "}", causal);
    const Result mixed = trained(alone);
    alone.position.scheme = name;
    const Result plain = trained(alone);
    INFO(name);
    CHECK(at::equal(mixed.output, plain.output));
    CHECK(at::equal(mixed.gradients, plain.gradients));
  }
}

TEST_CASE("a mixed stack has the parameters of its layers' schemes and no others") {
  ParameterStore parameters(7);
  const TransformerStack stack(
      mixed_stack("{0: kerple, 1: {scheme: t5, buckets: 4}, 2: t5, 3: none}", false), parameters);
  CHECK(parameters.find("layers.0.attention.position.r1") != nullptr);
  CHECK(parameters.find("layers.1.attention.position.r1") == nullptr);
  REQUIRE(parameters.find("position.bias") != nullptr);
  CHECK(parameters.find("position.bias")->value.size(0) == 4);
  REQUIRE(parameters.find("position.t5-2.bias") != nullptr);
  CHECK(parameters.find("position.t5-2.bias")->value.size(0) == 8);
  // Every one of them is trained by something.
  parameters.flatten();
  stack.forward({.ids = mixed_ids(28), .layout = TokenLayout::uniform(2, 14)}).sum().backward();
  for (const char* name :
       {"layers.0.attention.position.r1", "position.bias", "position.t5-2.bias"}) {
    CHECK(parameters.find(name)->value.grad().abs().max().item<double>() > 0);
  }
}

TEST_CASE("the same attention under attention.layers is attention's own to the last bit") {
  StackSettings settings = mixed_stack("{0-last: rope}", true);
  settings.attention.window = 4;
  const Result plain = trained(settings);
  settings.attention.window = 0;
  settings.attention.layers = parse_layer_map("{0-2: {window: 4}, 3: {window: 4}}");
  const Result layered = trained(settings);
  CHECK(at::equal(plain.output, layered.output));
  CHECK(at::equal(plain.gradients, layered.gradients));
  settings.attention.layers = parse_layer_map("{0-2: {window: 4}}");
  CHECK_FALSE(at::equal(plain.output, trained(settings).output));
}

TEST_CASE("mixed layers decode with a cache what they compute at once") {
  const auto check = [](const std::string& schemes, const std::string& attention) {
    INFO(schemes << " " << attention);
    StackSettings settings = mixed_stack(schemes, true);
    settings.attention.layers = parse_layer_map(attention);
    CHECK(distance_with_cache(settings) < 2e-5);
  };
  check("{3-last/4: none, others: rope}", "{}");
  check("{0: rope, 1: alibi, 2: kerple, 3: t5}", "{}");
  check("{0: formula, 1: shaw, 2: cope, 3: rerope}", "{}");
  check("{0-1: rope, 2: sinusoidal, 3: none}", "{0-2: {window: 3}}");
  check("{0: rope, others: alibi}", "{0: {kernel: elu}, 2: {window: 2}}");
  check("{0-1: rope, 2: none, 3: alibi}", "{1-2: {kernel: elu}}");
}
