#include "analysis/golden_schemes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "config/schemes/cope.h"
#include "config/schemes/dape.h"
#include "config/schemes/fox.h"
#include "config/schemes/path.h"
#include "config/schemes/stick_breaking.h"

namespace roformer {
namespace {

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
    path.convolution = 0;  // w is what comes of it
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

GoldenSchemes golden_gates() {
  return {{"cope", cope},
          {"dape", dape},
          {"path", path},
          {"stick_breaking", stick_breaking},
          {"fox", fox}};
}

}  // namespace roformer
