#include "verify/golden_setup.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "config/schema.h"
#include "config/schemes/alibi.h"
#include "config/schemes/cope.h"
#include "config/schemes/dape.h"
#include "config/schemes/deberta.h"
#include "config/schemes/dual_chunk.h"
#include "config/schemes/explicit_positions.h"
#include "config/schemes/fire.h"
#include "config/schemes/fox.h"
#include "config/schemes/kerple.h"
#include "config/schemes/learned.h"
#include "config/schemes/music_transformer.h"
#include "config/schemes/nezha.h"
#include "config/schemes/none.h"
#include "config/schemes/rerope.h"
#include "config/schemes/sandwich.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/shaw.h"
#include "config/schemes/sinusoidal.h"
#include "config/schemes/stick_breaking.h"
#include "config/schemes/streaming.h"
#include "config/schemes/t5.h"
#include "config/schemes/transformer_xl.h"
#include "config/schemes/tupe.h"
#include "config/schemes/xpos.h"
#include "position/alibi.h"
#include "position/explicit_positions.h"
#include "position/fire.h"
#include "position/sandwich.h"
#include "verify/golden_options.h"

namespace roformer {
namespace {

using nlohmann::json;
using Setup = void (*)(const GoldenCase&, GoldenSetup&);

std::int64_t rows(const GoldenCase& in, const char* name) {
  return in.parameters.at(name).size(0);
}
// A parameter that stays as it is, as a list of numbers.
std::vector<double> constants(const GoldenCase& in, const char* name) {
  const at::Tensor values = in.parameters.at(name).to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}
bool has(const GoldenCase& in, const char* name) {
  return in.parameters.contains(name);
}
RotaryLayout layout(const json& config, RotaryLayout otherwise = RotaryLayout::interleaved) {
  if (!given(config, "layout")) return otherwise;
  return choice<RotaryLayout>(
      config, "layout", {{"interleaved", RotaryLayout::interleaved}, {"half", RotaryLayout::half}});
}
SinusoidalLayout sinusoidal_layout(const json& config) {
  return choice<SinusoidalLayout>(config, "layout",
                                  {{"interleaved", SinusoidalLayout::interleaved},
                                   {"concat", SinusoidalLayout::concat},
                                   {"t2t", SinusoidalLayout::tensor2tensor}});
}
std::string in_layer(const char* name) {
  return layer_parameter(0, name);
}

void read_log_n(const json& config, AttentionSettings& attention) {
  if (!given(config, "logn_train_len")) return;
  attention.log_n_length = needed(config, "logn_train_len");
  attention.log_n =
      flag(config, "logn_clip", true) ? LogNScaling::query : LogNScaling::query_unclipped;
}

void absolute(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"kind", "heads", "base", "layout"});
  out.position.scheme = choice<const char*>(in.config, "kind",
                                            {{"sinusoidal", "sinusoidal"}, {"learned", "learned"}});
  out.position.of<SinusoidalSettings>().base = number(in.config, "base", 10000);
  out.position.of<SinusoidalSettings>().layout = sinusoidal_layout(in.config);
  out.shape.heads = needed(in.config, "heads");
  out.parameters = {"Wq", "Wk", "Wv"};
  out.shape.width = in.inputs.at("x").size(-1);
  out.shape.head_width = in.parameters.at("Wq").size(1) / out.shape.heads;
  if (has(in, "table")) {
    out.position.of<LearnedSettings>().length = rows(in, "table");
    out.links = {{"table", "position.table"}};
  }
}

void shaw(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"clip", "left", "right"});
  const auto bound = [&](const char* side) {
    return needed(in.config, given(in.config, side) ? side : "clip");
  };
  if (in.name.find("nezha") != std::string::npos) {  // whose table is fixed, and our own
    out.position.scheme = "nezha";
    out.position.of<NezhaSettings>().clip = needed(in.config, "clip");
    out.parameters = {"aK", "aV"};
    return;
  }
  out.position.of<ShawSettings>() = {
      .left = bound("left"), .right = bound("right"), .values = has(in, "aV")};
  out.links = {{"aK", in_layer("key")}, {"aV", in_layer("value")}};
}

void music_transformer(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"causal"});
  if (!given(in.config, "causal")) throw_failure("", "the case lacks the option causal");
  out.shape.causal = flag(in.config, "causal", false);
  const std::int64_t count = in.parameters.at("E").size(1);
  out.position.of<MusicTransformerSettings>().length = out.shape.causal ? count : (count + 1) / 2;
  out.links = {{"E", in_layer("table")}};
}

void transformer_xl(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"base", "clamp_len"});
  out.position.of<TransformerXlSettings>().base = number(in.config, "base", 10000);
  out.position.of<TransformerXlSettings>().clamp = integer(in.config, "clamp_len", 0);
  out.shape.width = rows(in, "W_kR");
  out.links = {{"W_kR", in_layer("weight"), true}, {"u", "position.u"}, {"w", "position.w"}};
}

void t5(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"num_buckets", "max_distance", "bidirectional", "scale"});
  out.position.of<T5Settings>() = {
      .buckets = needed(in.config, "num_buckets"),
      .max_distance = needed(in.config, "max_distance"),
      .scale = choice<ScoreScale>(in.config, "scale",
                                  {{"none", ScoreScale::none}, {"sqrt_d", ScoreScale::sqrt_d}})};
  if (!given(in.config, "bidirectional")) throw_failure("", "the case lacks bidirectional");
  out.shape.causal = !flag(in.config, "bidirectional", true);
  out.links = {{"bias", "position.bias"}};
}

void tupe(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"num_buckets", "max_distance", "ln_eps"});
  out.position.of<TupeSettings>() = {.length = rows(in, "p"),
                                     .relative = has(in, "rel_bias"),
                                     .untie_cls = has(in, "theta1"),
                                     .norm = has(in, "ln_g"),
                                     .norm_epsilon = number(in.config, "ln_eps", 1e-5),
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
  allow(in.config, {"span", "terms", "p2c_index", "buckets", "max_position", "ln_eps"});
  struct Terms {
    bool c2p = false, p2c = false;
  };
  const Terms terms = choice<Terms>(in.config, "terms",
                                    {{"c2p|p2c", {true, true}},
                                     {"p2c|c2p", {true, true}},
                                     {"c2p", {true, false}},
                                     {"p2c", {false, true}}});
  const std::int64_t buckets = integer(in.config, "buckets", 0);
  out.position.of<DebertaSettings>() = {
      .span = needed(in.config, "span"),
      .content_to_position = terms.c2p,
      .position_to_content = terms.p2c,
      .index = choice<DebertaIndex>(in.config, "p2c_index",
                                    {{"paper", DebertaIndex::paper}, {"code", DebertaIndex::code}}),
      .buckets = buckets,
      .max_position = buckets > 0 ? needed(in.config, "max_position") : 0,
      .norm = has(in, "ln_g"),
      .norm_epsilon = number(in.config, "ln_eps", 1e-7)};
  out.shape.width = in.parameters.at("rel").size(1);
  out.links = {{"rel", "position.table"},
               {"W_kr", in_layer("key.weight"), true},
               {"W_qr", in_layer("query.weight"), true},
               {"ln_g", "position.norm.weight"},
               {"ln_b", "position.norm.bias"}};
}

void alibi(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"variant"});
  const AlibiVariant variant = choice<AlibiVariant>(in.config, "variant",
                                                    {{"causal", AlibiVariant::causal},
                                                     {"symmetric", AlibiVariant::symmetric},
                                                     {"asymmetric", AlibiVariant::asymmetric}});
  const bool two = variant == AlibiVariant::asymmetric;
  out.parameters =
      two ? std::vector<std::string>{"left", "right"} : std::vector<std::string>{"slopes"};
  out.make = [variant, two](const GoldenArrays& parameters) {
    if (two) return make_alibi_of_slopes(parameters.at("left"), parameters.at("right"));
    const at::Tensor& slopes = parameters.at("slopes");
    return make_alibi_of_slopes(slopes, variant == AlibiVariant::causal ? -slopes : slopes);
  };
}

void kerple(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"kind"});
  out.position.of<KerpleSettings>().variant = choice<KerpleVariant>(
      in.config, "kind", {{"log", KerpleVariant::log}, {"power", KerpleVariant::power}});
  out.links = {{"r1", in_layer("r1")}, {"r2", in_layer("r2")}};
}

void fire(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"L0", "eps"});
  out.position.of<FireSettings>().initial_length = number(in.config, "L0", 512);
  out.position.of<FireSettings>().epsilon = number(in.config, "eps", 1e-6);
  out.parameters = {"c", "L_mult"};
  for (int i = 0; has(in, ("W" + std::to_string(i)).c_str()); ++i) {
    out.parameters.push_back("W" + std::to_string(i));
    out.parameters.push_back("b" + std::to_string(i));
  }
  out.make = [settings = out.position.of<FireSettings>()](const GoldenArrays& parameters) {
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
  out.position.of<SandwichSettings>() = {.base = number(in.config, "base", 10000),
                                         .width = integer(in.config, "dbar", 128)};
  out.parameters = {"coef"};
  out.make = [settings = out.position.of<SandwichSettings>()](const GoldenArrays& parameters) {
    return make_sandwich_of(settings, parameters.at("coef"));
  };
}

void cope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"pos_scaled"});
  out.position.of<CopeSettings>() = {.positions = rows(in, "e"),
                                     .scaled = flag(in.config, "pos_scaled", false)};
  out.links = {{"e", in_layer("table")}};
}

// Constants that must be ALiBi's own, which schemes that have them do not take from outside.
void alibi_slopes_of_case(const GoldenCase& in, std::int64_t heads, GoldenSetup& out) {
  const std::vector<double> given = constants(in, "slopes"), own = alibi_slopes(heads);
  if (given != own) throw_failure("", "other slopes than ALiBi's own");
  out.parameters.push_back("slopes");
}

void dape(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"kind", "kernel", "slope", "base"});
  out.shape.causal = true;
  const at::Tensor& second = in.parameters.at("W1");
  out.position.of<DapeSettings>() = {
      .kind = choice<DapeKind>(
          in.config, "kind",
          {{"alibi", DapeKind::alibi}, {"kerple", DapeKind::kerple}, {"rope", DapeKind::rope}}),
      .kernel = integer(in.config, "kernel", 1),
      .width = second.size(second.dim() - 2),
      .slope = number(in.config, "slope", 0.01),
      .base = number(in.config, "base", 10000)};
  out.links = {{"W0", in_layer("first.weight")},
               {"b0", in_layer("first.bias")},
               {"W1", in_layer("second.weight")},
               {"b1", in_layer("second.bias")},
               {"r1", in_layer("r1")},
               {"r2", in_layer("r2")}};
  if (has(in, "slopes")) alibi_slopes_of_case(in, out.shape.heads, out);
}

void stick_breaking(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"attend_current", "remainder"});
  out.shape.causal = true;
  out.position.of<StickBreakingSettings>() = {
      .attend_current = flag(in.config, "attend_current", false),
      .remainder = choice<StickRemainder>(in.config, "remainder",
                                          {{"none", StickRemainder::none},
                                           {"value", StickRemainder::value},
                                           {"head_bias", StickRemainder::head_bias}})};
  out.links = {{"head_bias", in_layer("head_bias")}};
}

// The sizes of a case that gives the layer's input x and projections of it.
void from_input(const GoldenCase& in, GoldenSetup& out) {
  out.shape.heads = needed(in.config, "heads");
  out.shape.width = in.inputs.at("x").size(-1);
  out.shape.head_width = in.parameters.at("Wq").size(1) / out.shape.heads;
  out.parameters = {"Wq", "Wk", "Wv"};
}

void fox(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"rope_base", "heads"});
  out.shape.causal = true;
  FoxSettings& fox = out.position.of<FoxSettings>();
  fox.rope_base = number(in.config, "rope_base", 0);
  out.links = {{"Wf", in_layer("gate.weight"), true}, {"bf", in_layer("gate.bias")}};
  if (in.inputs.contains("x")) return from_input(in, out);
  if (has(in, "bf")) {
    fox.gates = ForgetGates::bias_only;
    return;
  }
  out.without_parameters = true;
  out.features = [](const GoldenArrays& inputs) { return inputs.at("f").unsqueeze(-1); };
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

void nope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"attn_scale", "floor_scale"});
  out.position.scheme = "none";
  const bool scaled = given(in.config, "attn_scale") || given(in.config, "floor_scale");
  out.position.of<NoneSettings>() = {
      .attention_scale = number(in.config, "attn_scale", scaled ? 0.1 : 0),
      .floor_scale = integer(in.config, "floor_scale", 8192)};
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
  const at::Tensor places = in.inputs.at(distances ? "dist" : "pos");
  if (distances) {
    if (places.dim() != 1) throw_failure("", "dist is not [L - 1]");
    out.places = at::cat({at::zeros({1}, places.options()), places}).unsqueeze(0);
  } else {
    out.places = places.dim() == 1 ? places.unsqueeze(0) : places;
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

// A scheme that has no words of its own here: a case calls options as the configuration does and
// parameters as a checkpoint does.
void in_own_words(const GoldenCase& in, GoldenSetup& out) {
  Settings settings;
  settings.position.scheme = in.scheme;
  for (const auto& [name, value] : in.config.items()) {
    if (name == "causal") {
      out.shape.causal = flag(in.config, "causal", false);
      continue;
    }
    const Key* const key = find_key("position." + in.scheme + "." + name);
    if (key == nullptr) throw_failure("", "unknown option " + name);
    const std::string text = value.is_string() ? value.get<std::string>() : describe_json(value);
    try {
      key->set(settings, text, "");
    } catch (const InvalidValue& invalid) {
      throw_failure(name, "got " + text + ", wanted " + invalid.what());
    }
  }
  out.position = settings.position;
  for (const auto& parameter : in.parameters) {
    out.links.push_back({.name = parameter.first, .parameter = parameter.first});
  }
}

const std::map<std::string, Setup>& setups() {
  static const std::map<std::string, Setup> all{{"absolute", absolute},
                                                {"shaw", shaw},
                                                {"music_transformer", music_transformer},
                                                {"t5", t5},
                                                {"tupe", tupe},
                                                {"transformer_xl", transformer_xl},
                                                {"dape", dape},
                                                {"deberta", deberta},
                                                {"alibi", alibi},
                                                {"kerple", kerple},
                                                {"fire", fire},
                                                {"fox", fox},
                                                {"cope", cope},
                                                {"sandwich", sandwich},
                                                {"stick_breaking", stick_breaking},
                                                {"rope", rope},
                                                {"xpos", xpos},
                                                {"rerope", rerope},
                                                {"remapped_rope", remapped_rope},
                                                {"nope", nope},
                                                {"explicit_positions", explicit_positions},
                                                {"linear_attention", linear_attention}};
  return all;
}

}  // namespace

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

GoldenSetup golden_setup(const GoldenCase& golden) {
  const auto found = setups().find(golden.scheme);
  const bool known = found != setups().end();
  if (!known && find_position_facts(golden.scheme) == nullptr) {
    throw_failure("", "unknown scheme " + golden.scheme);
  }
  GoldenSetup setup;
  setup.position.scheme = golden.scheme;
  setup.shape = {.layers = 1};
  for (const auto& [name, value] : golden.inputs) {
    static const std::set<std::string> kNames{"q", "k", "v", "x", "f", "w", "b", "pos", "dist"};
    if (!kNames.contains(name)) throw_failure("", "unknown input " + name);
  }
  if (const auto query = golden.inputs.find("q"); query != golden.inputs.end()) {
    if (query->second.dim() != 4) throw_failure("", "q is not [B, H, L, D]");
    setup.shape.heads = query->second.size(1);
    setup.shape.head_width = query->second.size(3);
    setup.shape.width = setup.shape.heads * setup.shape.head_width;
  }
  const Setup set_up = known ? found->second : in_own_words;
  set_up(golden, setup);
  for (const auto& [name, value] : golden.parameters) {
    const auto is_linked = [&](const GoldenSetup::Link& link) { return link.name == name; };
    const bool linked = std::any_of(setup.links.begin(), setup.links.end(), is_linked);
    const auto& others = setup.parameters;
    if (!linked && std::find(others.begin(), others.end(), name) == others.end()) {
      throw_failure("", "unknown parameter " + name);
    }
  }
  return setup;
}

}  // namespace roformer
