#include "interop/rope_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace roformer {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostPositions = 1 << 30;
// An export writes the first name of each scaling. "su" is an old name of longrope.
constexpr FieldWords<RopeScaling> kScalings = {
    {"default", RopeScaling::none},        {"linear", RopeScaling::linear},
    {"dynamic", RopeScaling::dynamic_ntk}, {"yarn", RopeScaling::yarn},
    {"llama3", RopeScaling::llama3},       {"longrope", RopeScaling::longrope},
    {"su", RopeScaling::longrope}};

// The object that holds the numbers of the rotation; an empty one if they are fields of config.json
// itself.
JsonFields rope_object(const JsonFields& fields) {
  const json* const newer = fields.find("rope_parameters");
  const json* const older = fields.find("rope_scaling");
  if (newer != nullptr && older != nullptr && *newer != *older) {
    fields.refuse("rope_scaling", "the same as rope_parameters, which is there, too");
  }
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const json* found = fields.find(name);
    if (found == nullptr) continue;
    if (!found->is_object()) fields.refuse(name, "an object or null");
    for (const auto& [key, value] : found->items()) {
      if (value.is_object()) fields.refuse(name, "one rotation for all layers");
    }
    return fields.object(name);
  }
  static const json kNone = json::object();
  return {kNone, ""};
}

std::vector<double> factors(const JsonFields& rope, const char* name) {
  const json* list = rope.find(name);
  const char* const wanted = "a list of numbers above 0";
  if (list == nullptr || !list->is_array()) rope.refuse(name, wanted);
  std::vector<double> result;
  for (const json& value : *list) {
    if (!value.is_number() || !(value.get<double>() > 0)) rope.refuse(name, wanted);
    result.push_back(value.get<double>());
  }
  return result;
}

double required_factor(const JsonFields& rope) {
  const Range range = between(1, 1e6);
  if (rope.find("factor") == nullptr) rope.refuse("factor", range.words_of("a number"));
  return rope.number("factor", 1, range);
}

double mean_scale(double factor, double share) {
  return factor <= 1 ? 1 : 0.1 * share * std::log(factor) + 1;
}

void parse_yarn(const JsonFields& rope, RopeSettings& result) {
  result.beta_fast = rope.number("beta_fast", 32, between(0, 1e6));
  result.beta_slow = rope.number("beta_slow", 1, between(0, 1e6));
  if (!rope.flag("truncate", true)) {
    rope.refuse("truncate", "true: the ramp of this program's yarn begins and ends at whole pairs");
  }
  const double share = rope.number("mscale", 0, between(0, 1e3)),
               all = rope.number("mscale_all_dim", 0, between(0, 1e3));
  if (result.attention_factor == 0 && share > 0 && all > 0) {
    result.attention_factor = mean_scale(result.factor, share) / mean_scale(result.factor, all);
  }
}

nlohmann::ordered_json scaling_json(const RopeSettings& rope) {
  if (rope.scaling == RopeScaling::none) return left_out();
  nlohmann::ordered_json scaling = {{"rope_type", rope_scaling_name(rope.scaling)},
                                    {"factor", rope.factor}};
  if (rope.scaling != RopeScaling::linear && rope.scaling != RopeScaling::dynamic_ntk) {
    scaling["original_max_position_embeddings"] = rope.original_length;
  }
  if (rope.attention_factor > 0) scaling["attention_factor"] = rope.attention_factor;
  if (rope.scaling == RopeScaling::yarn) {
    scaling["beta_fast"] = rope.beta_fast;
    scaling["beta_slow"] = rope.beta_slow;
  }
  if (rope.scaling == RopeScaling::llama3) {
    scaling["low_freq_factor"] = rope.low_frequency_factor;
    scaling["high_freq_factor"] = rope.high_frequency_factor;
  }
  if (rope.scaling == RopeScaling::longrope) {
    scaling["short_factor"] = rope.short_factor;
    scaling["long_factor"] = rope.long_factor;
  }
  return scaling;
}

}  // namespace

const char* rope_scaling_name(RopeScaling scaling) {
  return word_of(kScalings, scaling);
}

double rotary_base(const JsonFields& fields, const char* name, double standard) {
  const double base = fields.number(name, standard, between(1, 1e12));
  if (base == 1) fields.refuse(name, "a number above 1");  // 1 would make all frequencies equal
  return base;
}

RopeSettings parse_rope(const JsonFields& fields, const RopeDefaults& defaults) {
  const std::int64_t max_positions = defaults.max_positions;
  const JsonFields rope = rope_object(fields);
  const auto either = [&](const char* name, double standard, double least, double most) {
    return (rope.find(name) != nullptr ? rope : fields)
        .number(name, standard, between(least, most));
  };
  RopeSettings result{
      .layout = RotaryLayout::half,
      .base = rotary_base(rope.find("rope_theta") != nullptr ? rope : fields, "rope_theta",
                          defaults.base),
      .fraction = either("partial_rotary_factor", defaults.fraction, 0, 1),
      .scaling = rope.choice(rope.find("rope_type") != nullptr ? "rope_type" : "type", kScalings)};
  if (!defaults.partial && result.fraction != 1) {
    const JsonFields& where = rope.find("partial_rotary_factor") != nullptr ? rope : fields;
    where.refuse("partial_rotary_factor", "1: models of its type rotate whole heads");
  }
  if (result.scaling == RopeScaling::none) return result;
  const JsonFields& original =
      rope.find("original_max_position_embeddings") != nullptr ? rope : fields;
  result.original_length =
      result.scaling == RopeScaling::linear || result.scaling == RopeScaling::dynamic_ntk
          ? max_positions
          : original.count("original_max_position_embeddings", max_positions,
                           between(1, kMostPositions));
  const bool by_length =
      rope.find("factor") == nullptr &&
      (result.scaling == RopeScaling::longrope || result.scaling == RopeScaling::yarn);
  result.factor = by_length ? std::max(1.0, static_cast<double>(max_positions) /
                                                static_cast<double>(result.original_length))
                            : required_factor(rope);
  if (result.scaling == RopeScaling::yarn || result.scaling == RopeScaling::longrope) {
    result.attention_factor = rope.number("attention_factor", 0, between(0, 1e3));
  }
  if (result.scaling == RopeScaling::yarn) parse_yarn(rope, result);
  if (result.scaling == RopeScaling::llama3) {
    result.low_frequency_factor = rope.number("low_freq_factor", 1, between(0, 1e6));
    result.high_frequency_factor = rope.number("high_freq_factor", 4, between(0, 1e6));
  }
  if (result.scaling == RopeScaling::longrope) {
    result.short_factor = factors(rope, "short_factor");
    result.long_factor = factors(rope, "long_factor");
  }
  return result;
}

std::vector<ConfigField> rope_fields() {
  return {written("rope_theta",
                  [](const ExportedConfig& config) {
                    return config.settings.position.of<RopeSettings>().base;
                  }),
          written("rope_scaling", [](const ExportedConfig& config) {
            return scaling_json(config.settings.position.of<RopeSettings>());
          })};
}

}  // namespace roformer
