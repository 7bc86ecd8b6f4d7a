#include "analysis/golden_schemes.h"

#include <ATen/core/Tensor.h>

#include "analysis/golden_options.h"
#include "base/error.h"
#include "position/scheme_parts.h"

namespace roformer {

using nlohmann::json;

std::int64_t rows(const GoldenCase& in, const char* name) {
  return in.parameters.at(name).size(0);
}

std::vector<double> constants(const GoldenCase& in, const char* name) {
  const at::Tensor values = in.parameters.at(name).to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

bool has(const GoldenCase& in, const char* name) {
  return in.parameters.contains(name);
}

RotaryLayout layout(const json& config, RotaryLayout otherwise) {
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

void from_input(const GoldenCase& in, GoldenSetup& out) {
  out.shape.heads = needed(in.config, "heads");
  out.shape.width = in.inputs.at("x").size(-1);
  out.shape.head_width = in.parameters.at("Wq").size(1) / out.shape.heads;
  out.parameters = {"Wq", "Wk", "Wv"};
}

void alibi_slopes_of_case(const GoldenCase& in, std::int64_t heads, GoldenSetup& out) {
  const std::vector<double> given = constants(in, "slopes"), own = alibi_slopes(heads);
  if (given != own) throw_failure("", "other slopes than ALiBi's own");
  out.parameters.push_back("slopes");
}

}  // namespace roformer
