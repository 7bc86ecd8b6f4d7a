#include "interop/config_fields.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/json.h"

namespace roformer {

using nlohmann::json;

const json* ConfigFields::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t ConfigFields::count(const char* name, std::int64_t standard, std::int64_t least,
                                 std::int64_t most) const {
  const json* value = find(name);
  if (value == nullptr) return standard;
  const std::string wanted = fmt::format("an integer from {} to {}", least, most);
  if (!value->is_number_integer()) refuse(name, wanted);
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    refuse(name, wanted);
  }
  const auto number = value->get<std::int64_t>();
  if (number < least || number > most) refuse(name, wanted);
  return number;
}

double ConfigFields::probability(const char* name, double standard) const {
  const json* value = find(name);
  if (value == nullptr) return standard;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number >= 0 && number < 1)) refuse(name, "a number from 0 to below 1");
  return number;
}

double ConfigFields::small_number(const char* name, double standard) const {
  const json* value = find(name);
  if (value == nullptr) return standard;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number > 0 && number <= 1)) refuse(name, "a number above 0, at most 1");
  return number;
}

double ConfigFields::number(const char* name, double standard, double least, double most) const {
  const json* value = find(name);
  const double number = value == nullptr     ? standard
                        : value->is_number() ? value->get<double>()
                                             : least - 1;
  if (!(number >= least && number <= most)) {
    refuse(name, fmt::format("a number from {:g} to {:g}", least, most));
  }
  return number;
}

bool ConfigFields::flag(const char* name, bool standard) const {
  const json* value = find(name);
  if (value == nullptr) return standard;
  if (!value->is_boolean()) refuse(name, "true or false");
  return value->get<bool>();
}

std::string ConfigFields::text(const char* name, const std::string& standard) const {
  const json* value = find(name);
  if (value == nullptr) return standard;
  if (!value->is_string()) refuse(name, "a text");
  return value->get<std::string>();
}

void ConfigFields::refuse(const char* name, const std::string& wanted) const {
  const json* value = find(name);
  const std::string got = value == nullptr ? "left at its default" : describe_json(*value);
  throw_failure(file_, fmt::format("\"{}\" is {}, wanted {}", name, got, wanted));
}

}  // namespace roformer
