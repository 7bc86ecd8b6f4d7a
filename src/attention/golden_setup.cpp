#include "attention/golden_setup.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <initializer_list>
#include <map>
#include <string_view>

#include "base/error.h"
#include "position/alibi.h"
#include "position/fire.h"
#include "position/sandwich.h"

namespace roformer {
namespace {

using nlohmann::json;
using Setup = void (*)(const GoldenCase&, GoldenSetup&);

std::int64_t rows(const GoldenCase& in, const char* name) {
  return in.parameters.at(name).size(0);
}
std::int64_t integer(const json& config, const char* name, std::int64_t otherwise) {
  return config.value(name, otherwise);
}
double number(const json& config, const char* name, double otherwise) {
  return config.value(name, otherwise);
}
std::string word(const json& config, const char* name, const char* otherwise) {
  return config.value(name, std::string(otherwise));
}
bool has(const GoldenCase& in, const char* name) {
  return in.parameters.contains(name);
}
RotaryLayout layout(const json& config, const char* otherwise) {
  return word(config, "layout", otherwise) == "half" ? RotaryLayout::half
                                                     : RotaryLayout::interleaved;
}
std::string in_layer(const char* name) {
  return layer_parameter(0, name);
}

// Settings that the functions below read; anything else is refused.
void allow(const json& config, std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : config.items()) {
    bool known = false;
    for (const std::string_view name : names) known |= name == key;
    if (!known) throw_failure("", "unknown option " + key + " = " + value.dump());
  }
}

void read_log_n(const json& config, AttentionSettings& attention) {
  if (!config.contains("logn_train_len")) return;
  attention.log_n_length = config.at("logn_train_len");
  attention.log_n =
      config.value("logn_clip", true) ? LogNScaling::query : LogNScaling::query_unclipped;
}

void absolute(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"kind", "heads", "base", "layout"});
  out.position.scheme = word(in.config, "kind", "sinusoidal");
  out.position.sinusoidal.base = number(in.config, "base", 10000);
  const std::string order = word(in.config, "layout", "interleaved");
  out.position.sinusoidal.layout = order == "concat" ? SinusoidalLayout::concat
                                   : order == "t2t"  ? SinusoidalLayout::tensor2tensor
                                                     : SinusoidalLayout::interleaved;
  out.shape.heads = in.config.at("heads");
  out.shape.width = in.inputs.at("x").size(-1);
  out.shape.head_width = in.parameters.at("Wq").size(1) / out.shape.heads;
  if (has(in, "table")) {
    out.position.learned.length = rows(in, "table");
    out.links = {{"table", "position.table"}};
  }
}

void shaw(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"clip", "left", "right"});
  const std::int64_t clip = integer(in.config, "clip", 0);
  out.position.shaw = {.left = integer(in.config, "left", clip),
                       .right = integer(in.config, "right", clip),
                       .values = has(in, "aV")};
  out.links = {{"aK", in_layer("key")}, {"aV", in_layer("value")}};
}

void music_transformer(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"causal"});
  out.shape.causal = in.config.at("causal");
  const std::int64_t count = in.parameters.at("E").size(1);
  out.position.music_transformer.length = out.shape.causal ? count : (count + 1) / 2;
  out.links = {{"E", in_layer("table")}};
}

void transformer_xl(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "clamp_len"});
  out.position.transformer_xl.base = number(in.config, "base", 10000);
  out.position.transformer_xl.clamp = integer(in.config, "clamp_len", 0);
  out.shape.width = rows(in, "W_kR");
  out.links = {{"W_kR", in_layer("weight"), true}, {"u", "position.u"}, {"w", "position.w"}};
}

void t5(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"num_buckets", "max_distance", "bidirectional", "scale"});
  out.position.t5 = {
      .buckets = in.config.at("num_buckets"),
      .max_distance = in.config.at("max_distance"),
      .scale = word(in.config, "scale", "none") == "none" ? ScoreScale::none : ScoreScale::sqrt_d};
  out.shape.causal = !in.config.at("bidirectional").get<bool>();
  out.links = {{"bias", "position.bias"}};
}

void tupe(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"num_buckets", "max_distance", "ln_eps"});
  out.position.tupe = {.length = rows(in, "p"),
                       .relative = has(in, "rel_bias"),
                       .untie_cls = has(in, "theta1"),
                       .norm = has(in, "ln_g"),
                       .buckets = integer(in.config, "num_buckets", 32),
                       .max_distance = integer(in.config, "max_distance", 128)};
  out.shape.width = in.parameters.at("p").size(1);
  out.links = {{"p", "position.table"},
               {"UQ", "position.query.weight", true},
               {"UK", "position.key.weight", true},
               {"theta1", "position.from_cls"},
               {"theta2", "position.to_cls"},
               {"rel_bias", "position.bias"},
               {"ln_g", "position.norm.weight"},
               {"ln_b", "position.norm.bias"}};
}

void deberta(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"span", "terms", "p2c_index", "buckets", "max_position"});
  const std::string terms = word(in.config, "terms", "c2p|p2c");
  out.position.deberta = {.span = in.config.at("span"),
                          .content_to_position = terms.find("c2p") != std::string::npos,
                          .position_to_content = terms.find("p2c") != std::string::npos,
                          .index = word(in.config, "p2c_index", "paper") == "paper"
                                       ? DebertaIndex::paper
                                       : DebertaIndex::code,
                          .buckets = integer(in.config, "buckets", 0),
                          .max_position = integer(in.config, "max_position", 0)};
  out.shape.width = in.parameters.at("rel").size(1);
  out.links = {{"rel", "position.table"},
               {"W_kr", in_layer("key.weight"), true},
               {"W_qr", in_layer("query.weight"), true}};
}

void alibi(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"variant"});
  const std::string variant = word(in.config, "variant", "causal");
  out.make = [variant](const GoldenArrays& parameters) {
    if (variant == "asymmetric") {
      return make_alibi_of_slopes(parameters.at("left"), parameters.at("right"));
    }
    const at::Tensor& slopes = parameters.at("slopes");
    return make_alibi_of_slopes(slopes, variant == "causal" ? -slopes : slopes);
  };
}

void kerple(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"kind"});
  out.position.kerple.variant =
      word(in.config, "kind", "log") == "log" ? KerpleVariant::log : KerpleVariant::power;
  out.links = {{"r1", in_layer("r1")}, {"r2", in_layer("r2")}};
}

void fire(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"L0", "eps"});
  out.position.fire.initial_length = number(in.config, "L0", 512);
  out.position.fire.epsilon = number(in.config, "eps", 1e-6);
  out.make = [settings = out.position.fire](const GoldenArrays& parameters) {
    FireLayer layer{.slope = parameters.at("c"), .threshold = parameters.at("L_mult")};
    for (int i = 0; parameters.contains("W" + std::to_string(i)); ++i) {
      layer.network.weights.push_back(parameters.at("W" + std::to_string(i)).t());
      layer.network.biases.push_back(parameters.at("b" + std::to_string(i)));
    }
    return make_fire_of(settings, {layer});
  };
}

void sandwich(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"dbar", "base"});
  out.position.sandwich = {.base = number(in.config, "base", 10000),
                           .width = integer(in.config, "dbar", 128)};
  out.make = [settings = out.position.sandwich](const GoldenArrays& parameters) {
    return make_sandwich_of(settings, parameters.at("coef"));
  };
}

void cope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"pos_scaled"});
  out.position.cope = {.positions = rows(in, "e"), .scaled = in.config.value("pos_scaled", false)};
  out.links = {{"e", in_layer("table")}};
}

void rope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"layout", "base", "rotary_dim", "rotary_value", "pos_offset", "scaling",
                    "logn_train_len", "logn_clip"});
  const auto width = static_cast<double>(out.shape.head_width);
  out.position.rope = {.layout = layout(in.config, "interleaved"),
                       .base = number(in.config, "base", 10000),
                       .fraction = number(in.config, "rotary_dim", width) / width,
                       .value = in.config.value("rotary_value", false),
                       .offset = integer(in.config, "pos_offset", 0)};
  if (in.config.contains("scaling") && in.config.at("scaling").is_object()) {
    read_golden_scaling(in.config.at("scaling"), out.position.rope);
  }
  read_log_n(in.config, out.attention);
}

void xpos(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "gamma", "scale_base", "center"});
  out.position.xpos = {.base = number(in.config, "base", 10000),
                       .gamma = number(in.config, "gamma", 0.4),
                       .scale_base = number(in.config, "scale_base", 512),
                       .centered = in.config.contains("center"),
                       .block_causal = false,  // such a mask is the case's
                       .original_length = 2 * integer(in.config, "center", 0)};
}

void rerope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "layout", "window", "leak", "logn_train_len", "logn_clip"});
  out.position.rerope = {.layout = layout(in.config, "half"),
                         .base = number(in.config, "base", 10000),
                         .window = in.config.at("window"),
                         .leak = number(in.config, "leak", 0)};
  read_log_n(in.config, out.attention);
}

void linear_attention(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"feature", "rope", "causal", "base", "stabilize", "eps", "layout"});
  const std::string rotation = word(in.config, "rope", "none");
  out.position.scheme = rotation == "none" ? "none" : "rope";
  out.position.rope = {.layout = layout(in.config, "interleaved"),
                       .base = number(in.config, "base", 10000)};
  out.shape.causal = in.config.value("causal", false);
  out.attention.kernel =
      word(in.config, "feature", "elu1") == "elu1" ? AttentionKernel::elu : AttentionKernel::favor;
  out.attention.linear_rotation =
      rotation == "pre" ? LinearRotation::before : LinearRotation::numerator;
  out.attention.favor_stabilize = in.config.value("stabilize", false);
  out.attention.favor_epsilon = number(in.config, "eps", 0);
}

void nope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {});
  out.position.scheme = "none";
}

const std::map<std::string, Setup>& setups() {
  static const std::map<std::string, Setup> all{{"absolute", absolute},
                                                {"shaw", shaw},
                                                {"music_transformer", music_transformer},
                                                {"t5", t5},
                                                {"tupe", tupe},
                                                {"transformer_xl", transformer_xl},
                                                {"deberta", deberta},
                                                {"alibi", alibi},
                                                {"kerple", kerple},
                                                {"fire", fire},
                                                {"cope", cope},
                                                {"sandwich", sandwich},
                                                {"rope", rope},
                                                {"xpos", xpos},
                                                {"rerope", rerope},
                                                {"nope", nope},
                                                {"linear_attention", linear_attention}};
  return all;
}

}  // namespace

void read_golden_scaling(const json& scaling, PositionSettings::Rope& rope) {
  allow(scaling, {"type", "variant", "factor", "train_len", "original_max", "seq_len", "beta_fast",
                  "beta_slow", "low_freq_factor", "high_freq_factor", "b", "attention_factor"});
  static const std::map<std::string, RopeScaling> kTypes{{"none", RopeScaling::none},
                                                         {"linear", RopeScaling::linear},
                                                         {"ntk", RopeScaling::ntk},
                                                         {"dynamic_ntk", RopeScaling::dynamic_ntk},
                                                         {"yarn", RopeScaling::yarn},
                                                         {"llama3", RopeScaling::llama3},
                                                         {"ntk_mixed", RopeScaling::ntk_mixed}};
  const std::string type = word(scaling, "type", "none");
  const auto found = kTypes.find(type);
  if (found == kTypes.end()) throw_failure("", "unknown scaling " + type);
  rope.scaling =
      word(scaling, "variant", "code") == "paper" ? RopeScaling::yarn_paper : found->second;
  rope.factor = number(scaling, "factor", 1);
  rope.original_length =
      integer(scaling, "train_len", integer(scaling, "original_max", rope.original_length));
  rope.beta_fast = number(scaling, "beta_fast", rope.beta_fast);
  rope.beta_slow = number(scaling, "beta_slow", rope.beta_slow);
  rope.low_frequency_factor = number(scaling, "low_freq_factor", rope.low_frequency_factor);
  rope.high_frequency_factor = number(scaling, "high_freq_factor", rope.high_frequency_factor);
  rope.mixed_exponent = number(scaling, "b", rope.mixed_exponent);
  rope.attention_factor = number(scaling, "attention_factor", 0);
}

GoldenSetup golden_setup(const GoldenCase& golden) {
  const auto found = setups().find(golden.scheme);
  if (found == setups().end()) throw_failure("", "unknown scheme " + golden.scheme);
  GoldenSetup setup;
  setup.position.scheme = golden.scheme;
  setup.shape = {.layers = 1};
  if (const auto query = golden.inputs.find("q"); query != golden.inputs.end()) {
    if (query->second.dim() != 4) throw_failure("", "q is not [B, H, L, D]");
    setup.shape.heads = query->second.size(1);
    setup.shape.head_width = query->second.size(3);
    setup.shape.width = setup.shape.heads * setup.shape.head_width;
  }
  found->second(golden, setup);
  return setup;
}

}  // namespace roformer
