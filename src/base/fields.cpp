#include "base/fields.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/json.h"

namespace roformer {

using nlohmann::json;

JsonNode JsonNode::child(const std::string& name) const {
  const auto found = value_->find(name);
  return found == value_->end() ? JsonNode() : JsonNode(&*found);
}

std::vector<JsonNode> JsonNode::items() const {
  std::vector<JsonNode> items;
  if (!is_list()) return items;
  for (const json& item : *value_) items.emplace_back(&item);
  return items;
}

std::vector<std::string> JsonNode::names() const {
  std::vector<std::string> names;
  if (!is_map()) return names;
  for (const auto& [name, value] : value_->items()) names.push_back(name);
  return names;
}

std::string JsonNode::describe() const {
  return value_ == nullptr ? "left at its default" : describe_json(*value_);
}

bool JsonNode::read(std::string& value, std::string&) const {
  if (value_->is_string()) value = value_->get_ref<const std::string&>();
  return value_->is_string();
}

bool JsonNode::read(std::int64_t& value, std::string&) const {
  const bool fits =
      value_->is_number_integer() &&
      (!value_->is_number_unsigned() ||
       value_->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (fits) value = value_->get<std::int64_t>();
  return fits;
}

bool JsonNode::read(std::uint64_t& value, std::string&) const {
  if (value_->is_number_unsigned()) value = value_->get<std::uint64_t>();
  return value_->is_number_unsigned();
}

bool JsonNode::read(double& value, std::string&) const {
  if (value_->is_number()) value = value_->get<double>();
  if (value_->is_null()) value = std::numeric_limits<double>::quiet_NaN();
  return value_->is_number() || value_->is_null();
}

bool JsonNode::read(bool& value, std::string&) const {
  if (value_->is_boolean()) value = value_->get<bool>();
  return value_->is_boolean();
}

JsonFields::JsonFields(const json& object, std::string file, std::string hint)
    : FieldReader(JsonNode(&object)), file_(std::move(file)), hint_(std::move(hint)) {
  if (!object.is_object()) throw_failure(file_, "does not hold a JSON object", hint_);
}

const json* JsonFields::find(const std::string& name) const {
  const JsonNode found = node(name);
  return found.means_default() ? nullptr : found.value();
}

const json& JsonFields::list(const std::string& name) const {
  if (!any(name).is_array()) refuse(name, "a list");
  return any(name);
}

void JsonFields::refuse(const std::string& name, const std::string& wanted) const {
  const JsonNode value(find(name));
  report(value, path() + name, message_of(value, wanted), "");
}

void JsonFields::report(const JsonNode&, const std::string& field, const std::string& message,
                        const std::string& hint) const {
  throw_failure(file_, fmt::format("\"{}\" {}", field, message), hint.empty() ? hint_ : hint);
}

void JsonFields::report_missing(const std::string& field) const {
  throw_failure(file_, "has no field " + field, hint_);
}

std::string JsonFields::message_of(const JsonNode& node, const std::string& wanted) {
  return fmt::format("is {}, wanted {}", node.describe(), wanted);
}

}  // namespace roformer
