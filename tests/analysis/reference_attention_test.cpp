// The efficient form of every scheme against the plain one, which writes every pair out.
#include "analysis/reference_attention.h"
#include "config/schemes/dape.h"
#include "config/schemes/deberta.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/fope.h"
#include "config/schemes/none.h"
#include "config/schemes/path.h"
#include "config/schemes/stick_breaking.h"
#include "config/schemes/streaming.h"
#include "config/words.h"
#include "position/scheme_parts.h"

#include <ATen/ATen.h>

#include <vector>

#include "attention/attend.h"
#include "attention/position_session.h"
#include "attention/schemes.h"
#include "catch.h"

using namespace roformer;

namespace {

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// Both forms of a scheme: outputs and the gradients of q, k, v and of the scheme's parameters.
void compare_forms(SmallScheme& small) {
  constexpr std::int64_t kLength = 9;
  constexpr std::int64_t kInner = SmallScheme::kHeads * SmallScheme::kHeadWidth;
  const auto leaf = [] {
    return at::randn({2, SmallScheme::kHeads, kLength, SmallScheme::kHeadWidth}, at::kDouble)
        .set_requires_grad(true);
  };
  const at::Tensor query = leaf(), key = leaf(), value = leaf();
  const at::Tensor outer = at::randn(query.sizes(), at::kDouble);
  const Positions positions = Positions::range(0, kLength);
  AttentionContext context{.queries = positions,
                           .keys = positions,
                           .layer = 1,
                           .causal = small.causal,
                           .training = true,
                           .type = at::kDouble};
  if (small.scheme->capabilities().draws_positions) {
    const std::vector<std::int64_t> lengths{kLength, kLength};
    context.drawn_positions =
        small.scheme->draw_positions({.lengths = lengths, .training = true, .key = 3});
  }
  context.projections = {.query_weight = at::randn({kInner, SmallScheme::kWidth}, at::kDouble),
                         .key_weight = at::randn({kInner, SmallScheme::kWidth}, at::kDouble),
                         .query_bias = at::randn({kInner}, at::kDouble),
                         .key_bias = at::randn({kInner}, at::kDouble)};
  std::vector<at::Tensor> leaves{query, key, value};
  for (const Parameter& parameter : small.parameters.all()) leaves.push_back(parameter.value);
  const auto gradients = [&](const at::Tensor& output) {
    for (const at::Tensor& x : leaves) x.mutable_grad() = at::Tensor();
    (output * outer).sum().backward();
    std::vector<at::Tensor> result{output.detach()};
    for (const at::Tensor& x : leaves) {
      result.push_back(x.grad().defined() ? x.grad().clone() : at::zeros_like(x));
    }
    return result;
  };
  const at::Tensor input = at::randn({2, kLength, SmallScheme::kWidth}, at::kDouble);
  const auto plain = gradients(reference_attention({.query = query,
                                                    .key = key,
                                                    .value = value,
                                                    .scheme = *small.scheme,
                                                    .settings = small.settings,
                                                    .parameters = small.parameters,
                                                    .context = context,
                                                    .token_inputs = small.token_inputs(input)}));
  AttentionContext masked = context;
  if (small.causal) masked.mask = causal_mask(positions, positions);
  if (const at::Tensor own = small.scheme->mask(context); own.defined()) masked.mask = own;
  if (const at::Tensor token_inputs = small.token_inputs(input); token_inputs.defined())
    masked.token_inputs = small.scheme->cached_token_inputs(token_inputs, {});
  const auto efficient = gradients(attend({.query = query,
                                           .key = key,
                                           .value = value,
                                           .scheme = *small.scheme,
                                           .attention = {},
                                           .context = masked,
                                           .bias = small.scheme->bias(masked)})
                                       .output);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    INFO((i == 0 ? "output" : i < 4 ? "q, k, v" : small.parameters.all()[i - 4].spec.name));
    CHECK(distance(plain[i], efficient[i]) < 1e-10);
  }
}

}  // namespace

TEST_CASE("the efficient form of every scheme is the plain one, with gradients") {
  at::manual_seed(12);
  for (const std::string& name : position_names()) {
    for (const bool causal : {false, true}) {
      SmallScheme small(name, causal);
      INFO(name << (small.causal ? ", causal" : ""));
      compare_forms(small);
    }
  }
}

TEST_CASE("the options of deberta give the same in both forms") {
  at::manual_seed(13);
  const auto with = [](const std::string& what, const auto& change) {
    SmallScheme small("deberta", false, at::kDouble, change);
    INFO(what);
    compare_forms(small);
  };
  with("the layer's own projections",
       [](PositionSettings& position) { position.of<DebertaSettings>().share_projections = true; });
  with("LayerNorm of the table",
       [](PositionSettings& position) { position.of<DebertaSettings>().norm = true; });
  with("logarithmic buckets, the released code's index", [](PositionSettings& position) {
    position.of<DebertaSettings>().buckets = 4;
    position.of<DebertaSettings>().max_position = 8;
    position.of<DebertaSettings>().index = DebertaIndex::code;
    position.of<DebertaSettings>().norm = true;
  });
  with("the layer's own projections with biases", [](PositionSettings& position) {
    position.of<DebertaSettings>().share_projections = true;
    position.of<DebertaSettings>().bias = true;
  });
  with("projections with biases", [](PositionSettings& position) {
    position.of<DebertaSettings>().bias = true;
    position.of<DebertaSettings>().index = DebertaIndex::code;
    position.of<DebertaSettings>().buckets = 4;
    position.of<DebertaSettings>().max_position = 4;
  });
  with("content to position alone", [](PositionSettings& position) {
    position.of<DebertaSettings>().position_to_content = false;
  });
}

TEST_CASE("the options of streaming give the same in both forms") {
  at::manual_seed(14);
  const auto with = [](StreamingDistance distance, StreamingForm form) {
    SmallScheme small("streaming", true, at::kDouble, [&](PositionSettings& position) {
      position.of<StreamingSettings>().distance = distance;
      position.of<StreamingSettings>().form = form;
    });
    INFO(to_word(distance) << ", " << to_word(form));
    compare_forms(small);
  };
  with(StreamingDistance::clipped, StreamingForm::rope);
  with(StreamingDistance::slots, StreamingForm::alibi);
}

TEST_CASE("the options of stick_breaking give the same in both forms") {
  at::manual_seed(15);
  for (const bool current : {false, true}) {
    for (const StickRemainder remainder : {StickRemainder::value, StickRemainder::head_bias}) {
      SmallScheme small("stick_breaking", true, at::kDouble, [&](PositionSettings& position) {
        position.of<StickBreakingSettings>() = {.attend_current = current, .remainder = remainder};
      });
      INFO(to_word(remainder) << (current ? ", with the token itself" : ""));
      compare_forms(small);
    }
  }
}

TEST_CASE("the forms and draws of explicit_positions give the same in both forms") {
  at::manual_seed(16);
  const auto with = [](PositionDraw draw, ExplicitForm form) {
    SmallScheme small("explicit_positions", true, at::kDouble, [&](PositionSettings& position) {
      position.of<ExplicitPositionsSettings>().draw = draw;
      position.of<ExplicitPositionsSettings>().form = form;
      position.of<ExplicitPositionsSettings>().positions = 70;
    });
    INFO(to_word(draw) << ", " << to_word(form));
    compare_forms(small);
  };
  for (const PositionDraw draw :
       {PositionDraw::randomized, PositionDraw::shape, PositionDraw::cape}) {
    with(draw, ExplicitForm::rope);
    with(draw, ExplicitForm::alibi);
  }
  with(PositionDraw::randomized, ExplicitForm::noisy_alibi);
}

TEST_CASE("the kinds of dape and its V2 give the same in both forms") {
  at::manual_seed(17);
  const auto with = [](DapeKind kind, std::int64_t kernel) {
    SmallScheme small("dape", true, at::kDouble, [&](PositionSettings& position) {
      position.of<DapeSettings>() = {.kind = kind, .kernel = kernel, .width = 5, .slope = 0.3};
    });
    for (const Parameter& parameter : small.parameters.all()) {  // of both signs
      if (parameter.value.dim() > 1) parameter.value.detach().sub_(0.35);
    }
    INFO(to_word(kind) << ", " << kernel << " keys");
    compare_forms(small);
  };
  with(DapeKind::alibi, 1);
  with(DapeKind::rope, 1);
  with(DapeKind::alibi, 3);
  with(DapeKind::kerple, 5);
}

TEST_CASE("the options of fope and path give the same in both forms") {
  at::manual_seed(18);
  const auto fope = [](const FopeSettings& settings) {
    SmallScheme small("fope", true, at::kDouble,
                      [&](PositionSettings& position) { position.of<FopeSettings>() = settings; });
    compare_forms(small);
  };
  fope({.training_length = 64, .pad_sin = 0, .trained = true});
  fope({.training_length = 700, .fourier_dim = 16, .trained = true});
  const auto path = [](const PathSettings& settings) {
    SmallScheme small("path", true, at::kDouble,
                      [&](PositionSettings& position) { position.of<PathSettings>() = settings; });
    for (const Parameter& parameter : small.parameters.all()) {
      if (parameter.value.dim() > 1) parameter.value.detach().sub_(0.35);
    }
    compare_forms(small);
  };
  path({.rank = 3, .forget_gate = true});
  path({.rank = 0, .convolution = 2, .forget_gate = true, .gate_scaled = false});
  path({.rank = 4, .convolution = 0});
}

TEST_CASE("LM-Infinite is ReRoPE among the first and the last tokens") {
  const StreamingSettings settings{.sinks = 2, .recent = 3, .distance = StreamingDistance::clipped};
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!streaming_sees(i, j, settings)) continue;
      CHECK(streaming_distance(i, j, settings) ==
            rerope_distance(static_cast<double>(i - j), {.window = 3}));
    }
  }
}
