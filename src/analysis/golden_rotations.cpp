#include "analysis/golden_schemes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "analysis/golden_options.h"
#include "config/schemes/dual_chunk.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/fope.h"
#include "config/schemes/rerope.h"
#include "config/schemes/rope.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/streaming.h"
#include "config/schemes/xpos.h"
#include "position/explicit_positions.h"

namespace roformer {
namespace {

using nlohmann::json;

void read_golden_scaling(const json& scaling, RopeSettings& rope) {
  allow(scaling, {"type", "variant", "factor", "train_len", "original_max", "seq_len", "beta_fast",
                  "beta_slow", "low_freq_factor", "high_freq_factor", "b", "attention_factor",
                  "proportion"});
  rope.scaling = choice<RopeScaling>(scaling, "type",
                                     {{"none", RopeScaling::none},
                                      {"linear", RopeScaling::linear},
                                      {"ntk", RopeScaling::ntk},
                                      {"dynamic_ntk", RopeScaling::dynamic_ntk},
                                      {"yarn", RopeScaling::yarn},
                                      {"llama3", RopeScaling::llama3},
                                      {"ntk_mixed", RopeScaling::ntk_mixed},
                                      {"longrope", RopeScaling::longrope},
                                      {"p_rope", RopeScaling::p_rope}});
  const bool paper = choice<bool>(scaling, "variant", {{"code", false}, {"paper", true}});
  if (paper) {
    if (rope.scaling != RopeScaling::yarn) refuse(scaling, "variant", "none: it is yarn's option");
    rope.scaling = RopeScaling::yarn_paper;
  }
  const bool by_length =
      rope.scaling == RopeScaling::dynamic_ntk || rope.scaling == RopeScaling::yarn || paper ||
      rope.scaling == RopeScaling::llama3 || rope.scaling == RopeScaling::longrope;
  if (by_length && !given(scaling, "train_len") && !given(scaling, "original_max")) {
    throw_failure("", "the scaling lacks train_len");
  }
  const bool needs_factor =
      rope.scaling != RopeScaling::none && rope.scaling != RopeScaling::p_rope;
  if (needs_factor && !given(scaling, "factor")) {
    throw_failure("", "the scaling lacks its factor");
  }
  rope.factor = number(scaling, "factor", 1);
  rope.original_length =
      integer(scaling, "train_len", integer(scaling, "original_max", rope.original_length));
  rope.beta_fast = number(scaling, "beta_fast", rope.beta_fast);
  rope.beta_slow = number(scaling, "beta_slow", rope.beta_slow);
  rope.low_frequency_factor = number(scaling, "low_freq_factor", rope.low_frequency_factor);
  rope.high_frequency_factor = number(scaling, "high_freq_factor", rope.high_frequency_factor);
  rope.proportion = number(scaling, "proportion", rope.proportion);
  rope.mixed_exponent = number(scaling, "b", rope.mixed_exponent);
  rope.attention_factor = number(scaling, "attention_factor", 0);
}

void read_log_n(const json& config, AttentionSettings& attention) {
  if (!given(config, "logn_train_len")) return;
  attention.log_n_length = needed(config, "logn_train_len");
  attention.log_n =
      flag(config, "logn_clip", true) ? LogNScaling::query : LogNScaling::query_unclipped;
}

void rope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"layout", "base", "rotary_dim", "rotary_value", "pos_offset", "scaling",
                    "attention_factor", "logn_train_len", "logn_clip"});
  const auto width = static_cast<double>(out.shape.head_width);
  out.position.of<RopeSettings>() = {.layout = layout(in.config),
                                     .base = number(in.config, "base", 10000),
                                     .fraction = number(in.config, "rotary_dim", width) / width,
                                     .value = flag(in.config, "rotary_value", false),
                                     .offset = integer(in.config, "pos_offset", 0)};
  if (given(in.config, "scaling")) {
    const json& scaling = in.config.at("scaling");
    if (!scaling.is_object()) refuse(in.config, "scaling", "an object with type and factor");
    RopeSettings& rope = out.position.of<RopeSettings>();
    read_golden_scaling(scaling, rope);
    rope.attention_factor = number(in.config, "attention_factor", rope.attention_factor);
    if (rope.scaling == RopeScaling::longrope) {
      rope.short_factor = constants(in, "short_factor");
      rope.long_factor = constants(in, "long_factor");
      out.parameters = {"short_factor", "long_factor"};
    }
    const std::int64_t length = in.inputs.at("k").size(2);
    if (integer(scaling, "seq_len", length) != length) {
      refuse(scaling, "seq_len", "the length of the keys");
    }
  }
  read_log_n(in.config, out.attention);
}

void xpos(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "gamma", "scale_base", "center"});
  out.position.of<XposSettings>() = {.base = number(in.config, "base", 10000),
                                     .gamma = number(in.config, "gamma", 0.4),
                                     .scale_base = number(in.config, "scale_base", 512),
                                     .centered = given(in.config, "center"),
                                     .block_causal = false,  // such a mask is the case's
                                     .original_length = 2 * integer(in.config, "center", 0)};
}

void rerope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "layout", "window", "leak", "logn_train_len", "logn_clip"});
  out.position.of<ReropeSettings>() = {.layout = layout(in.config, RotaryLayout::half),
                                       .base = number(in.config, "base", 10000),
                                       .window = needed(in.config, "window"),
                                       .leak = number(in.config, "leak", 0)};
  read_log_n(in.config, out.attention);
}

// Three schemes that count far distances otherwise.
void remapped_rope(const GoldenCase& in, GoldenSetup& out) {
  const std::string kind = choice<const char*>(
      in.config, "kind",
      {{"self_extend", "self_extend"}, {"streaming", "streaming"}, {"dca", "dual_chunk"}});
  out.position.scheme = kind;
  const RotaryLayout own_layout = layout(in.config, RotaryLayout::half);
  const double base = number(in.config, "base", 10000);
  if (kind == "self_extend") {
    allow(in.config, {"kind", "base", "layout", "group", "window", "shift", "logn_train_len"});
    out.position.of<SelfExtendSettings>() = {
        .layout = own_layout,
        .base = base,
        .group = needed(in.config, "group"),
        .window = needed(in.config, "window"),
        .shift = choice<SelfExtendShift>(
            in.config, "shift",
            {{"real", SelfExtendShift::real}, {"floor", SelfExtendShift::floor}})};
    read_log_n(in.config, out.attention);
  } else if (kind == "streaming") {
    allow(in.config, {"kind", "base", "layout", "sinks", "recent"});
    out.position.of<StreamingSettings>() = {
        .layout = own_layout,
        .base = base,
        .sinks = needed(in.config, "sinks"),
        .recent = needed(in.config, "recent"),
        .form = has(in, "slopes") ? StreamingForm::alibi : StreamingForm::rope};
    if (has(in, "slopes")) alibi_slopes_of_case(in, out.shape.heads, out);
  } else {
    allow(in.config, {"kind", "base", "layout", "chunk", "local", "mscale"});
    out.position.of<DualChunkSettings>() = {.layout = own_layout,
                                            .base = base,
                                            .chunk = needed(in.config, "chunk"),
                                            .local = needed(in.config, "local"),
                                            .magnitude = number(in.config, "mscale", 1)};
  }
}

void fope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "train_len", "floor_ratio", "pad_sin", "fourier_dim"});
  out.position.of<FopeSettings>() = {.base = number(in.config, "base", 10000),
                                     .training_length = needed(in.config, "train_len"),
                                     .floor_ratio = number(in.config, "floor_ratio", 1),
                                     .pad_sin = number(in.config, "pad_sin", 1),
                                     .fourier_dim = integer(in.config, "fourier_dim", 0),
                                     .trained = !in.gradients.empty()};
  out.links = {{"cos_coef", in_layer("cosine")}, {"sin_coef", in_layer("sine")}};
}

void explicit_positions(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"kind", "layout", "base", "content_scale", "heads"});
  ExplicitPositionsSettings& own = out.position.of<ExplicitPositionsSettings>();
  own.form = choice<ExplicitForm>(in.config, "kind",
                                  {{"rope", ExplicitForm::rope},
                                   {"alibi", ExplicitForm::alibi},
                                   {"sinusoidal", ExplicitForm::sinusoidal},
                                   {"learned", ExplicitForm::learned},
                                   {"noisy_alibi", ExplicitForm::noisy_alibi}});
  own.base = number(in.config, "base", 10000);
  if (own.form == ExplicitForm::sinusoidal) {
    own.sinusoids = sinusoidal_layout(in.config);
  } else {
    own.layout = layout(in.config);
  }
  out.content_scale = number(in.config, "content_scale", 1);
  const bool distances = own.form == ExplicitForm::noisy_alibi;
  const at::Tensor drawn = in.inputs.at(distances ? "dist" : "pos");
  if (distances) {
    if (drawn.dim() != 1) throw_failure("", "dist is not [L - 1]");
    out.drawn_positions = at::cat({at::zeros({1}, drawn.options()), drawn}).unsqueeze(0);
  } else {
    out.drawn_positions = drawn.dim() == 1 ? drawn.unsqueeze(0) : drawn;
  }
  if (in.inputs.contains("x")) from_input(in, out);
  if (has(in, "table")) {
    own.positions = rows(in, "table");
    out.links = {{"table", "position.table"}};
  }
  if (!has(in, "slopes")) return;
  out.parameters.push_back("slopes");
  out.make = [own](const GoldenArrays& parameters) {
    return make_explicit_positions_of_slopes(own, parameters.at("slopes"));
  };
}

void linear_attention(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"feature", "rope", "causal", "base", "stabilize", "eps", "layout"});
  struct Rotary {
    const char* scheme = "none";
    LinearRotation rotation = LinearRotation::numerator;
  };
  const Rotary rotary = choice<Rotary>(in.config, "rope",
                                       {{"none", {}},
                                        {"numerator", {"rope", LinearRotation::numerator}},
                                        {"pre", {"rope", LinearRotation::before}}});
  out.position.scheme = rotary.scheme;
  out.position.of<RopeSettings>() = {.layout = layout(in.config),
                                     .base = number(in.config, "base", 10000)};
  out.shape.causal = flag(in.config, "causal", false);
  out.attention.kernel = choice<AttentionKernel>(
      in.config, "feature", {{"elu1", AttentionKernel::elu}, {"favor", AttentionKernel::favor}});
  if (out.attention.kernel == AttentionKernel::favor) out.parameters = {"W"};
  out.attention.linear_rotation = rotary.rotation;
  out.attention.favor_stabilize = flag(in.config, "stabilize", false);
  out.attention.favor_epsilon = number(in.config, "eps", 0);
}

}  // namespace

GoldenSchemes golden_rotations() {
  return {{"rope", rope},
          {"xpos", xpos},
          {"rerope", rerope},
          {"remapped_rope", remapped_rope},
          {"fope", fope},
          {"explicit_positions", explicit_positions},
          {"linear_attention", linear_attention}};
}

}  // namespace roformer
