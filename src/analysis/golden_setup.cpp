#include "analysis/golden_setup.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/golden_schemes.h"
#include "base/error.h"
#include "base/json.h"
#include "config/schema.h"

namespace roformer {
namespace {

// A scheme that has no words of its own here: a case calls options as the configuration does and
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
    for (const GoldenSchemes& family : {golden_terms(), golden_rotations(), golden_gates()}) {
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
