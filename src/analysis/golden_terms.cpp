
#include "analysis/golden_schemes.h"
#include "base/error.h"
#include "base/fields.h"
#include "config/schemes/alibi.h"
#include "config/schemes/cope.h"
#include "config/schemes/dape.h"
#include "config/schemes/deberta.h"
#include "config/schemes/fire.h"
#include "config/schemes/fox.h"
#include "config/schemes/kerple.h"
#include "config/schemes/learned.h"
#include "config/schemes/music_transformer.h"
#include "config/schemes/nezha.h"
#include "config/schemes/none.h"
#include "config/schemes/path.h"
#include "config/schemes/sandwich.h"
#include "config/schemes/shaw.h"
#include "config/schemes/sinusoidal.h"
#include "config/schemes/stick_breaking.h"
#include "config/schemes/t5.h"
#include "config/schemes/transformer_xl.h"
#include "config/schemes/tupe.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

void absolute(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.scheme =
      options.choice<const char*>("kind", {{"sinusoidal", "sinusoidal"}, {"learned", "learned"}});
  out.position.of<SinusoidalSettings>().base = options.number("base", 10000);
  out.position.of<SinusoidalSettings>().layout = sinusoidal_layout(options);
  out.shape.heads = options.count("heads");
  out.parameters = {"Wq", "Wk", "Wv"};
  out.shape.width = in.inputs.at("x").size(-1);
  out.shape.head_width = in.parameters.at("Wq").size(1) / out.shape.heads;
  if (has(in, "table")) {
    out.position.of<LearnedSettings>().length = rows(in, "table");
    out.links = {{"table", "position.table"}};
  }
}

void shaw(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  options.allow({"clip", "left", "right"});
  const auto bound = [&](const char* side) {
    return options.count(options.find(side) != nullptr ? side : "clip");
  };
  if (in.name.find("nezha") != std::string::npos) {  // whose table is fixed, and our own
    out.position.scheme = "nezha";
    out.position.of<NezhaSettings>().clip = options.count("clip");
    out.parameters = {"aK", "aV"};
    return;
  }
  out.position.of<ShawSettings>() = {
      .left = bound("left"), .right = bound("right"), .values = has(in, "aV")};
  out.links = {{"aK", in_layer("key")}, {"aV", in_layer("value")}};
}

void music_transformer(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.shape.causal = options.flag("causal");
  const std::int64_t count = in.parameters.at("E").size(1);
  out.position.of<MusicTransformerSettings>().length = out.shape.causal ? count : (count + 1) / 2;
  out.links = {{"E", in_layer("table")}};
}

void transformer_xl(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<TransformerXlSettings>().base = options.number("base", 10000);
  out.position.of<TransformerXlSettings>().clamp = options.count("clamp_len", 0);
  out.shape.width = rows(in, "W_kR");
  out.links = {{"W_kR", in_layer("weight"), true}, {"u", "position.u"}, {"w", "position.w"}};
}

void t5(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<T5Settings>() = {
      .buckets = options.count("num_buckets"),
      .max_distance = options.count("max_distance"),
      .scale = options.choice<ScoreScale>(
          "scale", {{"none", ScoreScale::none}, {"sqrt_d", ScoreScale::sqrt_d}})};
  out.shape.causal = !options.flag("bidirectional");
  out.links = {{"bias", "position.bias"}};
}

void tupe(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<TupeSettings>() = {.length = rows(in, "p"),
                                     .relative = has(in, "rel_bias"),
                                     .untie_cls = has(in, "theta1"),
                                     .norm = has(in, "ln_g"),
                                     .norm_epsilon = options.number("ln_eps", 1e-5),
                                     .buckets = options.count("num_buckets", 32),
                                     .max_distance = options.count("max_distance", 128)};
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

void deberta(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  struct Terms {
    bool c2p = false, p2c = false;
  };
  const Terms terms = options.choice<Terms>("terms", {{"c2p|p2c", {true, true}},
                                                      {"p2c|c2p", {true, true}},
                                                      {"c2p", {true, false}},
                                                      {"p2c", {false, true}}});
  options.allow({"max_position"});
  const std::int64_t buckets = options.count("buckets", 0);
  out.position.of<DebertaSettings>() = {
      .span = options.count("span"),
      .content_to_position = terms.c2p,
      .position_to_content = terms.p2c,
      .index = options.choice<DebertaIndex>(
          "p2c_index", {{"paper", DebertaIndex::paper}, {"code", DebertaIndex::code}}),
      .buckets = buckets,
      .max_position = buckets > 0 ? options.count("max_position") : 0,
      .norm = has(in, "ln_g"),
      .norm_epsilon = options.number("ln_eps", 1e-7)};
  out.shape.width = in.parameters.at("rel").size(1);
  out.links = {{"rel", "position.table"},
               {"W_kr", in_layer("key.weight"), true},
               {"W_qr", in_layer("query.weight"), true},
               {"ln_g", "position.norm.weight"},
               {"ln_b", "position.norm.bias"}};
}

void alibi(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  const AlibiVariant variant =
      options.choice<AlibiVariant>("variant", {{"causal", AlibiVariant::causal},
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

void kerple(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<KerpleSettings>().variant = options.choice<KerpleVariant>(
      "kind", {{"log", KerpleVariant::log}, {"power", KerpleVariant::power}});
  out.links = {{"r1", in_layer("r1")}, {"r2", in_layer("r2")}};
}

void fire(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<FireSettings>().initial_length = options.number("L0", 512);
  out.position.of<FireSettings>().epsilon = options.number("eps", 1e-6);
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

void sandwich(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<SandwichSettings>() = {.base = options.number("base", 10000),
                                         .width = options.count("dbar", 128)};
  out.parameters = {"coef"};
  out.make = [settings = out.position.of<SandwichSettings>()](const GoldenArrays& parameters) {
    return make_sandwich_of(settings, parameters.at("coef"));
  };
}

void nope(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.scheme = "none";
  const bool scaled =
      options.find("attn_scale") != nullptr || options.find("floor_scale") != nullptr;
  out.position.of<NoneSettings>() = {
      .attention_scale = options.number("attn_scale", scaled ? 0.1 : 0),
      .floor_scale = options.count("floor_scale", 8192)};
}

void cope(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.position.of<CopeSettings>() = {.positions = rows(in, "e"),
                                     .scaled = options.flag("pos_scaled", false)};
  out.links = {{"e", in_layer("table")}};
}

void dape(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.shape.causal = true;
  const at::Tensor& second = in.parameters.at("W1");
  out.position.of<DapeSettings>() = {
      .kind = options.choice<DapeKind>(
          "kind",
          {{"alibi", DapeKind::alibi}, {"kerple", DapeKind::kerple}, {"rope", DapeKind::rope}}),
      .kernel = options.count("kernel", 1),
      .width = second.size(second.dim() - 2),
      .slope = options.number("slope", 0.01),
      .base = options.number("base", 10000)};
  out.links = {{"W0", in_layer("first.weight")},
               {"b0", in_layer("first.bias")},
               {"W1", in_layer("second.weight")},
               {"b1", in_layer("second.bias")},
               {"r1", in_layer("r1")},
               {"r2", in_layer("r2")}};
  if (has(in, "slopes")) alibi_slopes_of_case(in, out.shape.heads, out);
}

void path(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.shape.causal = true;
  options.allow({"heads"});
  PathSettings& path = out.position.of<PathSettings>();
  path.epsilon = options.number("l2_eps", 1e-6);
  path.gate_scaled = options.flag("gate_scaled", true);
  if (!in.inputs.contains("x")) {
    path.convolution = 0;  // w is computed from it
    path.forget_gate = in.inputs.contains("f");
    out.without_parameters = true;
    out.token_inputs = [](const GoldenArrays& inputs) {
      std::vector<at::Tensor> parts{inputs.at("w"), inputs.at("b").unsqueeze(-1)};
      if (inputs.contains("f")) parts.push_back(inputs.at("f").unsqueeze(-1));
      return at::cat(parts, -1);
    };
    return;
  }
  from_input(in, options, out);
  const bool low_rank = has(in, "Wb");
  path.rank = low_rank ? rows(in, "Wb") : 0;
  path.convolution = has(in, "conv") ? in.parameters.at("conv").size(1) : 0;
  path.forget_gate = has(in, "Wf");
  out.links = {{"Wa", in_layer(low_rank ? "down.weight" : "up.weight"), true},
               {"Wb", in_layer("up.weight"), true},
               {"conv", in_layer("convolution")},
               {"Wbeta", in_layer("beta.weight"), true},
               {"bbeta", in_layer("beta.bias")},
               {"Wf", in_layer("gate.weight"), true},
               {"bf", in_layer("gate.bias")}};
  if (!low_rank) out.links.erase(out.links.begin() + 1);
}

void stick_breaking(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.shape.causal = true;
  out.position.of<StickBreakingSettings>() = {
      .attend_current = options.flag("attend_current", false),
      .remainder =
          options.choice<StickRemainder>("remainder", {{"none", StickRemainder::none},
                                                       {"value", StickRemainder::value},
                                                       {"head_bias", StickRemainder::head_bias}})};
  out.links = {{"head_bias", in_layer("head_bias")}};
}

void fox(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.shape.causal = true;
  options.allow({"heads"});
  FoxSettings& fox = out.position.of<FoxSettings>();
  fox.rope_base = options.number("rope_base", 0);
  out.links = {{"Wf", in_layer("gate.weight"), true}, {"bf", in_layer("gate.bias")}};
  if (in.inputs.contains("x")) return from_input(in, options, out);
  if (has(in, "bf")) {
    fox.gates = ForgetGates::bias_only;
    return;
  }
  out.without_parameters = true;
  out.token_inputs = [](const GoldenArrays& inputs) { return inputs.at("f").unsqueeze(-1); };
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
          {"nope", nope},
          {"cope", cope},
          {"dape", dape},
          {"path", path},
          {"stick_breaking", stick_breaking},
          {"fox", fox}};
}

}  // namespace roformer
