#include "training/json_fields.h"

#include <limits>
#include <utility>

#include "base/error.h"

namespace roformer {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string path, const std::string& file)
    : object_(object), path_(std::move(path)), file_(file) {
  if (!object.is_object()) throw_failure(file, path_ + " is not an object");
}

std::vector<std::string> JsonFields::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) names.push_back(name);
  return names;
}

const json& JsonFields::any(const std::string& name) const {
  const auto found = object_.find(name);
  if (found == object_.end()) throw_failure(file_, "has no field " + path_ + name);
  return *found;
}

std::int64_t JsonFields::count(const std::string& name) const {
  const json& value = any(name);
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    refuse(name, "a non-negative integer");
  }
  return value.get<std::int64_t>();
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

JsonFields JsonFields::object(const std::string& name) const {
  return JsonFields(any(name), path_ + name + ".", file_);
}

const json& JsonFields::list(const std::string& name) const {
  if (!any(name).is_array()) refuse(name, "a list");
  return any(name);
}

void JsonFields::refuse(const std::string& name, const std::string& wanted) const {
  throw_failure(file_, "the field " + path_ + name + " is not " + wanted);
}

}  // namespace roformer
