#include "base/json_fields.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hexadecimal.h"

namespace roformer {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string file, std::string hint)
    : object_(object), file_(std::move(file)), hint_(std::move(hint)) {
  if (!object.is_object()) throw_failure(file_, "does not hold a JSON object", hint_);
}

std::vector<std::string> JsonFields::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) names.push_back(name);
  return names;
}

const json& JsonFields::any(const std::string& name) const {
  const auto found = object_.find(name);
  if (found == object_.end()) throw_failure(file_, "has no field " + path_ + name, hint_);
  return *found;
}

std::uint64_t JsonFields::unsigned_count(const std::string& name) const {
  if (!any(name).is_number_unsigned()) refuse(name, "a non-negative integer");
  return any(name).get<std::uint64_t>();
}

std::int64_t JsonFields::count(const std::string& name) const {
  const std::uint64_t value = unsigned_count(name);
  if (value > std::numeric_limits<std::int64_t>::max()) refuse(name, "an integer below 2^63");
  return static_cast<std::int64_t>(value);
}

double JsonFields::number(const std::string& name) const {
  const json& value = any(name);
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) refuse(name, "a number");
  return value.get<double>();
}

double JsonFields::amount(const std::string& name) const {
  const double value = number(name);
  if (!(value >= 0)) refuse(name, "a number that is not negative");
  return value;
}

bool JsonFields::flag(const std::string& name) const {
  if (!any(name).is_boolean()) refuse(name, "true or false");
  return any(name).get<bool>();
}

std::string JsonFields::text(const std::string& name) const {
  if (!any(name).is_string()) refuse(name, "a text");
  return any(name).get<std::string>();
}

std::uint64_t JsonFields::hash(const std::string& name) const {
  const std::optional<std::uint64_t> value = parse_hexadecimal(text(name));
  if (!value) refuse(name, "16 hexadecimal digits");
  return *value;
}

std::vector<std::uint64_t> JsonFields::hashes(const std::string& name) const {
  std::vector<std::uint64_t> hashes;
  for (const json& item : list(name)) {
    const auto value =
        item.is_string() ? parse_hexadecimal(item.get_ref<const std::string&>()) : std::nullopt;
    if (!value) refuse(name, "a list of texts of 16 hexadecimal digits");
    hashes.push_back(*value);
  }
  return hashes;
}

JsonFields JsonFields::inside(const json& object, const std::string& path) const {
  if (!object.is_object()) refuse(path, "an object");
  JsonFields fields(object, file_, hint_);
  fields.path_ = path_ + path + ".";
  return fields;
}

JsonFields JsonFields::object(const std::string& name) const {
  return inside(any(name), name);
}

std::vector<JsonFields> JsonFields::objects(const std::string& name) const {
  std::vector<JsonFields> objects;
  for (const json& item : list(name)) {
    objects.push_back(inside(item, name + "[" + std::to_string(objects.size()) + "]"));
  }
  return objects;
}

const json& JsonFields::list(const std::string& name) const {
  if (!any(name).is_array()) refuse(name, "a list");
  return any(name);
}

void JsonFields::refuse(const std::string& name, const std::string& wanted) const {
  throw_failure(file_, "the field " + path_ + name + " is not " + wanted, hint_);
}

}  // namespace roformer
