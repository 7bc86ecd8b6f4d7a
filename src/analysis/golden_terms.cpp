#include "analysis/golden_schemes.h"

#include <ATen/TensorOperators.h>

#include "analysis/golden_options.h"
#include "base/error.h"
#include "config/schemes/alibi.h"
#include "config/schemes/deberta.h"
#include "config/schemes/fire.h"
#include "config/schemes/kerple.h"
#include "config/schemes/learned.h"
#include "config/schemes/music_transformer.h"
#include "config/schemes/nezha.h"
#include "config/schemes/none.h"
#include "config/schemes/sandwich.h"
#include "config/schemes/shaw.h"
#include "config/schemes/sinusoidal.h"
#include "config/schemes/t5.h"
#include "config/schemes/transformer_xl.h"
#include "config/schemes/tupe.h"
#include "position/scheme_parts.h"

namespace roformer {
namespace {

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

void nope(const GoldenCase& in, GoldenSetup& out) {
  allow(in.config, {"attn_scale", "floor_scale"});
  out.position.scheme = "none";
  const bool scaled = given(in.config, "attn_scale") || given(in.config, "floor_scale");
  out.position.of<NoneSettings>() = {
      .attention_scale = number(in.config, "attn_scale", scaled ? 0.1 : 0),
      .floor_scale = integer(in.config, "floor_scale", 8192)};
}

}  // namespace

GoldenSchemes golden_terms() {
  return {{"absolute", absolute},
          {"shaw", shaw},
          {"music_transformer", music_transformer},
          {"transformer_xl", transformer_xl},
          {"t5", t5},
          {"tupe", tupe},
          {"deberta", deberta},
          {"alibi", alibi},
          {"kerple", kerple},
          {"fire", fire},
          {"sandwich", sandwich},
          {"nope", nope}};
}

}  // namespace roformer
