#include "analysis/golden_schemes.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <set>
#include "base/error.h"
#include "base/json.h"
#include "config/schema.h"
#include "position/scheme_parts.h"

namespace roformer {
namespace {

// Used for a scheme without a function. The case names options as the configuration does and
// parameters as a checkpoint does.
void in_own_words(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  Settings settings;
  settings.position.scheme = in.scheme;
  for (const auto& [name, value] : in.config.items()) {
    if (name == "causal") {
      out.shape.causal = options.flag("causal", false);
      continue;
    }
    options.node(name);
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

const std::map<std::string, decltype(GoldenScheme::set_up)>& schemes_in_cases() {
  static const auto all = [] {
    std::map<std::string, decltype(GoldenScheme::set_up)> result;
    for (const GoldenSchemes& family : {golden_terms(), golden_rotations()}) {
      for (const GoldenScheme& scheme : family) result.emplace(scheme.name, scheme.set_up);
    }
    return result;
  }();
  return all;
}

}  // namespace

GoldenSetup golden_setup(const GoldenCase& golden) {
  const auto found = schemes_in_cases().find(golden.scheme);
  const bool known = found != schemes_in_cases().end();
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
  const auto set_up = known ? found->second : in_own_words;
  const JsonFields options(golden.config, "");
  set_up(golden, options, setup);
  options.refuse_others();
  for (const auto& [name, value] : golden.parameters) {
    const bool known =
        std::ranges::find(setup.links, name, &GoldenSetup::Link::name) != setup.links.end() ||
        std::ranges::find(setup.parameters, name) != setup.parameters.end();
    if (!known) throw_failure("", "unknown parameter " + name);
  }
  return setup;
}

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

RotaryLayout layout(const JsonFields& options, RotaryLayout otherwise) {
  return options.word("layout", otherwise,
                      {{"interleaved", RotaryLayout::interleaved}, {"half", RotaryLayout::half}});
}

SinusoidalLayout sinusoidal_layout(const JsonFields& options) {
  return options.choice<SinusoidalLayout>("layout", {{"interleaved", SinusoidalLayout::interleaved},
                                                     {"concat", SinusoidalLayout::concat},
                                                     {"t2t", SinusoidalLayout::tensor2tensor}});
}

std::string in_layer(const char* name) {
  return layer_parameter(0, name);
}

void from_input(const GoldenCase& in, const JsonFields& options, GoldenSetup& out) {
  out.shape.heads = options.count("heads");
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
