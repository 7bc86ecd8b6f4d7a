#include "analysis/golden_options.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace roformer {

using nlohmann::json;

void refuse(const json& config, const char* name, const std::string& wanted) {
  throw_failure("",
                fmt::format("{} = {}, wanted {}", name, describe_json(config.at(name)), wanted));
}

bool given(const json& config, const char* name) {
  return config.contains(name) && !config.at(name).is_null();
}

double number(const json& config, const char* name, double otherwise) {
  if (!given(config, name)) return otherwise;
  if (!config.at(name).is_number()) refuse(config, name, "a number");
  return config.at(name);
}

std::int64_t integer(const json& config, const char* name, std::int64_t otherwise) {
  const double value = number(config, name, static_cast<double>(otherwise));
  if (value != std::floor(value)) refuse(config, name, "a whole number");
  return static_cast<std::int64_t>(value);
}

std::int64_t needed(const json& config, const char* name) {
  if (!given(config, name)) throw_failure("", std::string("the case lacks the option ") + name);
  return integer(config, name, 0);
}

bool flag(const json& config, const char* name, bool otherwise) {
  if (!given(config, name)) return otherwise;
  if (!config.at(name).is_boolean()) refuse(config, name, "true or false");
  return config.at(name);
}

void allow(const json& config, std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : config.items()) {
    bool known = false;
    for (const std::string_view name : names) known |= name == key;
    if (!known) throw_failure("", "unknown option " + key + " = " + describe_json(value));
  }
}

}  // namespace roformer
