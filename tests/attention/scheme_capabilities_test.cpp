// What capabilities() names must answer; a bias, weights or drawn positions that it does not name
// were forgotten there.
#include <ATen/ATen.h>

#include "attention/schemes.h"
#include "catch.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/formula.h"
#include "config/schemes/fox.h"
#include "config/schemes/rope.h"

using namespace roformer;

namespace {

constexpr std::int64_t kTextLength = 6;

AttentionContext context_of(const SmallScheme& small) {
  AttentionContext context{.queries = Positions::range(0, kTextLength),
                           .keys = Positions::range(0, kTextLength),
                           .layer = 1,
                           .causal = small.causal,
                           .type = at::kDouble};
  const at::Tensor token_inputs =
      small.token_inputs(at::randn({1, kTextLength, SmallScheme::kWidth}, at::kDouble));
  if (token_inputs.defined())
    context.token_inputs = small.scheme->cached_token_inputs(token_inputs, {});
  return context;
}

void check_answers(const SmallScheme& small) {
  const PositionScheme& scheme = *small.scheme;
  const SchemeCapabilities capabilities = scheme.capabilities();
  const AttentionContext context = context_of(small);
  CHECK(scheme.bias(context).defined() == (capabilities.bias || capabilities.bias_of_positions));
  CHECK(!(capabilities.bias && capabilities.bias_of_positions));
  const at::Tensor distances = at::arange(-kTextLength + 1, kTextLength, at::kDouble);
  if (capabilities.bias && capabilities.bias->on_distance_alone) {
    CHECK(scheme.bias_at(context, distances).size(1) == distances.size(0));
  }
  if (capabilities.running_sums) CHECK(scheme.running_sums(context).defined());
  if (capabilities.token_inputs) CHECK(context.token_inputs.size(2) == kTextLength);
  const at::Tensor pairs =
      at::rand({1, SmallScheme::kHeads, kTextLength, kTextLength}, at::kDouble).softmax(-1);
  CHECK(scheme.weights(context, pairs.clone()).weights.defined() == capabilities.weights);
  if (capabilities.value_term) CHECK(scheme.value_term(context, pairs).defined());
  const std::vector<std::int64_t> lengths{kTextLength};
  CHECK(scheme.draw_positions({.lengths = lengths}).defined() == capabilities.draws_positions);
  // A rotation and a transform are two answers to one question.
  if (capabilities.transform) CHECK(!scheme.rotation(context, SmallScheme::kHeadWidth));
}

}  // namespace

TEST_CASE("the hooks that a scheme's capabilities name are those that answer") {
  at::manual_seed(4);
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      INFO(name << (causal ? ", causal" : ""));
      check_answers(SmallScheme(name, causal));
    }
  }
}

// Nothing fails where a scheme forgets these: its hook is not asked, or a cache takes the wrong
// form.
TEST_CASE("forms that decide how scores are made and keys are kept are those of the papers") {
  const auto capabilities_of = [](const char* name,
                                  const std::function<void(PositionSettings&)>& change = {}) {
    return SmallScheme(name, true, at::kDouble, change).scheme->capabilities();
  };
  for (const char* name : {"shaw", "nezha", "transformer_xl", "deberta", "music_transformer",
                           "cope", "dape", "rerope", "self_extend", "dual_chunk", "streaming"}) {
    INFO(name);
    CHECK(capabilities_of(name).scores == ContentScores::changed);
  }
  const SchemeCapabilities path = capabilities_of("path");
  CHECK((path.scores == ContentScores::own && path.changes_keys && path.token_inputs));
  CHECK(path.token_inputs_before > 0);
  CHECK((capabilities_of("fox").running_sums && capabilities_of("fox").token_inputs));
  CHECK((capabilities_of("shaw").value_term && capabilities_of("nezha").value_term));
  CHECK((capabilities_of("fope").transform && capabilities_of("explicit_positions").transform));
  for (const char* name : {"rerope", "self_extend", "streaming"}) {
    CHECK(capabilities_of(name).cached_keys == CachedKeys::unrotated);
  }
  for (const RopeScaling scaling : {RopeScaling::none, RopeScaling::dynamic_ntk}) {
    const SchemeCapabilities rope = capabilities_of("rope", [scaling](PositionSettings& all) {
      all.of<RopeSettings>().scaling = scaling;
      all.of<RopeSettings>().factor = 2;
    });
    CHECK((rope.cached_keys == CachedKeys::unrotated) == (scaling != RopeScaling::none));
  }
  CHECK(capabilities_of("dape").can_cache);
  CHECK(!capabilities_of("dape", [](PositionSettings& all) {
           all.of<DapeSettings>().kernel = 3;
         }).can_cache);
  for (const char* name : {"kerple", "fire"}) CHECK(capabilities_of(name).bias.value().on_layer);
  const SchemeCapabilities formula = capabilities_of("formula", [](PositionSettings& all) {
    all.of<FormulaSettings>().bias = "abs(i - j) * (layer + 1) / length";
  });
  CHECK((formula.bias.value().on_layer && formula.bias.value().on_length));
}

TEST_CASE("options that change what a scheme answers change its capabilities") {
  at::manual_seed(5);
  const auto check = [](const char* name, const std::function<void(PositionSettings&)>& change) {
    INFO(name);
    check_answers(SmallScheme(name, true, at::kDouble, change));
  };
  check("fox", [](PositionSettings& all) { all.of<FoxSettings>().gates = ForgetGates::fixed; });
  check("fox", [](PositionSettings& all) { all.of<FoxSettings>().gates = ForgetGates::bias_only; });
  check("path", [](PositionSettings& all) { all.of<PathSettings>().forget_gate = true; });
  check("shaw", [](PositionSettings& all) { all.of<ShawSettings>().values = false; });
  check("streaming",
        [](PositionSettings& all) { all.of<StreamingSettings>().form = StreamingForm::alibi; });
  check("formula", [](PositionSettings& all) { all.of<FormulaSettings>().score = "score * i"; });
  for (const ExplicitForm form : {ExplicitForm::rope, ExplicitForm::alibi,
                                  ExplicitForm::noisy_alibi, ExplicitForm::sinusoidal}) {
    check("explicit_positions",
          [form](PositionSettings& all) { all.of<ExplicitPositionsSettings>().form = form; });
  }
}
