#include "analysis/golden_schemes.h"

#include "base/error.h"
#include "base/fields.h"
#include "config/schemes/dual_chunk.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/fope.h"
#include "config/schemes/rerope.h"
#include "config/schemes/rope.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/streaming.h"
#include "config/schemes/xpos.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

void read_golden_scaling(const JsonFields& scaling, RopeSettings& rope) {
  rope.scaling = scaling.choice<RopeScaling>("type", {{"none", RopeScaling::none},
                                                      {"linear", RopeScaling::linear},
                                                      {"ntk", RopeScaling::ntk},
                                                      {"dynamic_ntk", RopeScaling::dynamic_ntk},
                                                      {"yarn", RopeScaling::yarn},
                                                      {"llama3", RopeScaling::llama3},
                                                      {"ntk_mixed", RopeScaling::ntk_mixed},
                                                      {"longrope", RopeScaling::longrope},
                                                      {"p_rope", RopeScaling::p_rope}});
  const bool paper = scaling.choice<bool>("variant", {{"code", false}, {"paper", true}});
  if (paper) {
    if (rope.scaling != RopeScaling::yarn) scaling.refuse("variant", "none: it is yarn's option");
    rope.scaling = RopeScaling::yarn_paper;
  }
  const bool by_length =
      rope.scaling == RopeScaling::dynamic_ntk || rope.scaling == RopeScaling::yarn || paper ||
      rope.scaling == RopeScaling::llama3 || rope.scaling == RopeScaling::longrope;
  if (by_length && scaling.find("train_len") == nullptr &&
      scaling.find("original_max") == nullptr) {
    throw_failure("", "the scaling lacks train_len");
  }
  const bool needs_factor =
      rope.scaling != RopeScaling::none && rope.scaling != RopeScaling::p_rope;
  if (needs_factor && scaling.find("factor") == nullptr) {
    throw_failure("", "the scaling lacks its factor");
  }
  rope.factor = scaling.number("factor", 1);
  rope.original_length =
      scaling.count("train_len", scaling.count("original_max", rope.original_length));
  rope.beta_fast = scaling.number("beta_fast", rope.beta_fast);
  rope.beta_slow = scaling.number("beta_slow", rope.beta_slow);
  rope.low_frequency_factor = scaling.number("low_freq_factor", rope.low_frequency_factor);
  rope.high_frequency_factor = scaling.number("high_freq_factor", rope.high_frequency_factor);
  rope.proportion = scaling.number("proportion", rope.proportion);
  rope.mixed_exponent = scaling.number("b", rope.mixed_exponent);
  rope.attention_factor = scaling.number("attention_factor", 0);
}

void read_log_n(const JsonFields& options, AttentionSettings& attention) {
  options.allow({"logn_clip"});
  if (options.find("logn_train_len") == nullptr) return;
  attention.log_n_length = options.count("logn_train_len");
  attention.log_n =
      options.flag("logn_clip", true) ? LogNScaling::query : LogNScaling::query_unclipped;
}

void rope(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  const auto width = static_cast<double>(out.shape.head_width);
  out.position.of<RopeSettings>() = {.layout = layout(options),
                                     .base = options.number("base", 10000),
                                     .fraction = options.number("rotary_dim", width) / width,
                                     .value = options.flag("rotary_value", false),
                                     .offset = options.count("pos_offset", 0)};
  options.allow({"attention_factor"});
  if (options.find("scaling") != nullptr) {
    const JsonFields scaling = options.object("scaling");
    RopeSettings& rope = out.position.of<RopeSettings>();
    read_golden_scaling(scaling, rope);
    rope.attention_factor = options.number("attention_factor", rope.attention_factor);
    if (rope.scaling == RopeScaling::longrope) {
      rope.short_factor = constants(in, "short_factor");
      rope.long_factor = constants(in, "long_factor");
      out.parameters = {"short_factor", "long_factor"};
    }
    const std::int64_t length = in.inputs.at("k").size(2);
    if (scaling.count("seq_len", length) != length) {
      scaling.refuse("seq_len", "the length of the keys");
    }
    scaling.refuse_others();
  }
  read_log_n(options, out.attention);
}

void xpos(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<XposSettings>() = {.base = options.number("base", 10000),
                                     .gamma = options.number("gamma", 0.4),
                                     .scale_base = options.number("scale_base", 512),
                                     .centered = options.find("center") != nullptr,
                                     .block_causal = false,  // such a mask is the case's
                                     .original_length = 2 * options.count("center", 0)};
}

void rerope(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<ReropeSettings>() = {.layout = layout(options, RotaryLayout::half),
                                       .base = options.number("base", 10000),
                                       .window = options.count("window"),
                                       .leak = options.number("leak", 0)};
  read_log_n(options, out.attention);
}

// Three schemes that count far distances differently.
void remapped_rope(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  const std::string kind = options.choice<const char*>(
      "kind", {{"self_extend", "self_extend"}, {"streaming", "streaming"}, {"dca", "dual_chunk"}});
  out.position.scheme = kind;
  const RotaryLayout own_layout = layout(options, RotaryLayout::half);
  const double base = options.number("base", 10000);
  if (kind == "self_extend") {
    out.position.of<SelfExtendSettings>() = {
        .layout = own_layout,
        .base = base,
        .group = options.count("group"),
        .window = options.count("window"),
        .shift = options.choice<SelfExtendShift>(
            "shift", {{"real", SelfExtendShift::real}, {"floor", SelfExtendShift::floor}})};
    read_log_n(options, out.attention);
  } else if (kind == "streaming") {
    out.position.of<StreamingSettings>() = {
        .layout = own_layout,
        .base = base,
        .sinks = options.count("sinks"),
        .recent = options.count("recent"),
        .form = has(in, "slopes") ? StreamingForm::alibi : StreamingForm::rope};
    if (has(in, "slopes")) alibi_slopes_of_case(in, out.shape.heads, out);
  } else {
    out.position.of<DualChunkSettings>() = {.layout = own_layout,
                                            .base = base,
                                            .chunk = options.count("chunk"),
                                            .local = options.count("local"),
                                            .magnitude = options.number("mscale", 1)};
  }
}

void fope(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<FopeSettings>() = {.base = options.number("base", 10000),
                                     .training_length = options.count("train_len"),
                                     .floor_ratio = options.number("floor_ratio", 1),
                                     .pad_sin = options.number("pad_sin", 1),
                                     .fourier_dim = options.count("fourier_dim", 0),
                                     .trained = !in.gradients.empty()};
  out.links = {{"cos_coef", in_layer("cosine")}, {"sin_coef", in_layer("sine")}};
}

void explicit_positions(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  options.allow({"heads", "layout"});
  ExplicitPositionsSettings& own = out.position.of<ExplicitPositionsSettings>();
  own.form = options.choice<ExplicitForm>("kind", {{"rope", ExplicitForm::rope},
                                                   {"alibi", ExplicitForm::alibi},
                                                   {"sinusoidal", ExplicitForm::sinusoidal},
                                                   {"learned", ExplicitForm::learned},
                                                   {"noisy_alibi", ExplicitForm::noisy_alibi}});
  own.base = options.number("base", 10000);
  if (own.form == ExplicitForm::sinusoidal) {
    own.sinusoids = sinusoidal_layout(options);
  } else {
    own.layout = layout(options);
  }
  out.content_scale = options.number("content_scale", 1);
  const bool distances = own.form == ExplicitForm::noisy_alibi;
  const at::Tensor drawn = in.inputs.at(distances ? "dist" : "pos");
  if (distances) {
    if (drawn.dim() != 1) throw_failure("", "dist is not [L - 1]");
    out.drawn_positions = at::cat({at::zeros({1}, drawn.options()), drawn}).unsqueeze(0);
  } else {
    out.drawn_positions = drawn.dim() == 1 ? drawn.unsqueeze(0) : drawn;
  }
  if (in.inputs.contains("x")) from_input(in, options, out);
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

void linear_attention(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  struct Rotary {
    const char* scheme = "none";
    LinearRotation rotation = LinearRotation::numerator;
  };
  const Rotary rotary =
      options.choice<Rotary>("rope", {{"none", {}},
                                      {"numerator", {"rope", LinearRotation::numerator}},
                                      {"pre", {"rope", LinearRotation::before}}});
  out.position.scheme = rotary.scheme;
  out.position.of<RopeSettings>() = {.layout = layout(options),
                                     .base = options.number("base", 10000)};
  out.shape.causal = options.flag("causal", false);
  out.attention.kernel = options.choice<AttentionKernel>(
      "feature", {{"elu1", AttentionKernel::elu}, {"favor", AttentionKernel::favor}});
  if (out.attention.kernel == AttentionKernel::favor) out.parameters = {"W"};
  out.attention.linear_rotation = rotary.rotation;
  out.attention.favor_stabilize = options.flag("stabilize", false);
  out.attention.favor_epsilon = options.number("eps", 0);
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
