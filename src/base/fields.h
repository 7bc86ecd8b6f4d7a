// The one reader of fields, for JSON and YAML files that anyone may have written. It returns a
// field's value with the wanted type and within its range. Otherwise it refuses the value in one
// line that says where, which field, what it is and what is wanted. JsonFields throws at the first
// refusal; YamlFields (config/yaml_fields.h) collects all of them, because a user fixes a file in
// one go.
//
//   const JsonFields fields(document, "config.json");
//   model.layers = fields.count("num_hidden_layers", 12, between(1, 1000));
//   const JsonFields window = fields.object("window");  // messages name "window.steps"
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hexadecimal.h"
#include "base/range.h"

namespace roformer {

// The words of a file and their meanings.
template <class Choice>
using FieldWords = std::initializer_list<std::pair<const char*, Choice>>;

// `Node` represents a value of a file (JsonNode, YamlNode). `Self`, the derived class, has three
// functions: report(node, field, message, hint) throws or stores a refusal, message_of(node,
// wanted) composes its message, and of_map(node, path) returns a reader of another map of the same
// file.
template <class Self, class Node>
class FieldReader {
 public:
  // Each type has a reader for a required field and one for a field with a default. In JSON, a
  // field that is null takes the default too.
  std::string text(const std::string& name) const {
    return read<std::string>(required(name), name, {});
  }
  std::string text(const std::string& name, const std::string& standard) const {
    return read_or(name, standard, {});
  }
  std::int64_t count(const std::string& name, const Range& range = at_least(0)) const {
    return read<std::int64_t>(required(name), name, range);
  }
  std::int64_t count(const std::string& name, std::int64_t standard,
                     const Range& range = {}) const {
    return read_or(name, standard, range);
  }
  std::uint64_t unsigned_count(const std::string& name) const {
    return read<std::uint64_t>(required(name), name, {});
  }
  double number(const std::string& name, const Range& range = {}) const {
    return read<double>(required(name), name, range);
  }
  double number(const std::string& name, double standard, const Range& range = {}) const {
    return read_or(name, standard, range);
  }
  double amount(const std::string& name) const { return number(name, at_least(0)); }
  bool flag(const std::string& name) const { return read<bool>(required(name), name, {}); }
  bool flag(const std::string& name, bool standard) const { return read_or(name, standard, {}); }
  std::uint64_t hash(const std::string& name) const {  // written by hexadecimal()
    return hash_of(required(name), name);
  }
  // Reads a field into a value, which stays unchanged if the field is missing.
  template <class Value>
  void take(const std::string& name, Value& value, const Range& range = {}) const {
    value = read_or(name, value, range);
  }
  template <class Choice>
  Choice word(const std::string& name, FieldWords<Choice> words) const {
    const Node node = required(name);
    std::string text, hint, known;
    node.read(text, hint);
    for (const auto& [word, choice] : words) {
      if (text == word) return choice;
      known += (known.empty() ? "" : ", ") + std::string(word);
    }
    refuse_node(node, name, "one of " + known, "");
    return words.begin()->second;
  }
  template <class Choice>
  Choice word(const std::string& name, Choice standard, FieldWords<Choice> words) const {
    return node(name).means_default() ? standard : word(name, words);
  }

  // The first word is the default.
  template <class Choice>
  Choice choice(const std::string& name, FieldWords<Choice> words) const {
    return word(name, words.begin()->second, words);
  }

  // Readers of required lists; the limits apply to each item.
  std::vector<std::string> texts(const std::string& name) const {
    return read_list(name, [&](const Node& item, const std::string& field) {
      return read<std::string>(item, field, {});
    });
  }
  std::vector<std::int64_t> counts(const std::string& name, const Range& range) const {
    return read_list(name, [&](const Node& item, const std::string& field) {
      return read<std::int64_t>(item, field, range);
    });
  }
  std::vector<double> numbers(const std::string& name, const Range& range = {}) const {
    return read_list(name, [&](const Node& item, const std::string& field) {
      return read<double>(item, field, range);
    });
  }
  std::vector<std::uint64_t> hashes(const std::string& name) const {
    return read_list(
        name, [&](const Node& item, const std::string& field) { return hash_of(item, field); });
  }
  std::vector<Self> objects(const std::string& name) const {
    return read_list(
        name, [&](const Node& item, const std::string& field) { return inside(item, field); });
  }
  Self object(const std::string& name) const { return inside(required(name), name); }

  bool has(const std::string& name) const { return node(name).is_there(); }
  void require(const std::string& name) const { required(name); }
  std::vector<std::string> names() const { return map_.names(); }
  Node node(const std::string& name) const {
    if (std::ranges::find(*asked_, name) == asked_->end()) asked_->push_back(name);
    return map_.is_map() ? map_.child(name) : Node();
  }
  const Node& map() const { return map_; }

  // The fields of a map that is in a field of that name, directly or deeper.
  Self inside(const Node& node, const std::string& name) const {
    if (node.is_there() && !node.is_map()) refuse_node(node, name, Node::kMap, "");
    return self().of_map(node, path_ + name + ".");
  }

  // Permits names that nothing asks for.
  void allow(std::initializer_list<const char*> names) const {
    asked_->insert(asked_->end(), names.begin(), names.end());
  }
  // Refuses every field that nothing has asked for so far. `hint_for(name, known)` suggests a known
  // name.
  void refuse_others() const {
    refuse_others([](const std::string&, const std::vector<std::string>&) { return ""; });
  }
  template <class HintFor>
  void refuse_others(HintFor hint_for) const {
    for (const std::string& name : names()) {
      if (std::ranges::find(*asked_, name) != asked_->end()) continue;
      self().report(map_.child(name), path_ + name, Self::kUnknown, hint_for(name, *asked_));
    }
  }

 protected:
  explicit FieldReader(Node map, std::string path = "")
      : map_(std::move(map)), path_(std::move(path)) {}

  void refuse_node(const Node& node, const std::string& name, const std::string& wanted,
                   const std::string& hint) const {
    self().report(node, path_ + name, self().message_of(node, wanted), hint);
  }
  // Reports a missing field and returns no value.
  Node required(const std::string& name) const {
    const Node found = node(name);
    if (!found.is_there()) self().report_missing(path_ + name);
    return found;
  }
  const std::string& path() const { return path_; }

 private:
  Node map_;
  std::string path_;  // before the names in messages: "window."
  // The names that were asked for.
  std::shared_ptr<std::vector<std::string>> asked_ = std::make_shared<std::vector<std::string>>();

  template <class Value>
  static constexpr const char* kind_of() {
    if constexpr (std::is_same_v<Value, std::string>) return "a text";
    if constexpr (std::is_same_v<Value, bool>) return "true or false";
    if constexpr (std::is_same_v<Value, double>) return "a number";
    return std::is_signed_v<Value> ? "an integer" : "a non-negative integer";
  }

  const Self& self() const { return static_cast<const Self&>(*this); }

  template <class Value>
  Value read(const Node& node, const std::string& name, const Range& range) const {
    Value value{};
    if (!node.is_there()) return value;  // already reported as missing
    std::string hint;
    bool good = node.read(value, hint);
    if constexpr (std::is_arithmetic_v<Value>) {
      // A range without limits also permits NaN.
      good = good && (range.words().empty() || range.contains(static_cast<double>(value)));
    }
    if (good) return value;
    refuse_node(node, name, range.words_of(kind_of<Value>()), hint);
    return Value{};
  }
  template <class Value>
  Value read_or(const std::string& name, const Value& standard, const Range& range) const {
    const Node found = node(name);
    return found.means_default() ? standard : read<Value>(found, name, range);
  }
  std::uint64_t hash_of(const Node& node, const std::string& name) const {
    if (!node.is_there()) return 0;
    std::string text, hint;
    node.read(text, hint);
    const std::optional<std::uint64_t> value = parse_hexadecimal(text);
    if (!value) refuse_node(node, name, "16 hexadecimal digits", "");
    return value.value_or(0);
  }
  template <class Read>
  auto read_list(const std::string& name, Read read_item) const {
    std::vector<decltype(read_item(Node(), name))> values;
    const Node list = required(name);
    if (list.is_there() && !list.is_list()) refuse_node(list, name, "a list", "");
    for (const Node& item : list.items()) {
      std::string field = name;
      if (Node::kNumbersItems) field += "[" + std::to_string(values.size()) + "]";
      values.push_back(read_item(item, field));
    }
    return values;
  }
};

// A value of a JSON file, or no value. The file's JSON must outlive this object.
class JsonNode {
 public:
  static constexpr const char* kMap = "an object";
  static constexpr bool kNumbersItems = true;  // "runs[2]"

  JsonNode() = default;
  explicit JsonNode(const nlohmann::json* value) : value_(value) {}

  const nlohmann::json* value() const { return value_; }
  bool is_there() const { return value_ != nullptr; }
  bool means_default() const { return value_ == nullptr || value_->is_null(); }
  bool is_map() const { return value_ != nullptr && value_->is_object(); }
  bool is_list() const { return value_ != nullptr && value_->is_array(); }
  JsonNode child(const std::string& name) const;
  std::vector<JsonNode> items() const;     // empty for any value but a list
  std::vector<std::string> names() const;  // empty for any value but a map
  std::string describe() const;

  // Returns false if the value has another type. JSON sets no hint; YAML's nodes use it to say how
  // to write the value.
  bool read(std::string& value, std::string& hint) const;
  bool read(std::int64_t& value, std::string& hint) const;
  bool read(std::uint64_t& value, std::string& hint) const;
  bool read(double& value, std::string& hint) const;  // null, JSON's only way to write it, is NaN
  bool read(bool& value, std::string& hint) const;

 private:
  const nlohmann::json* value_ = nullptr;
};

class JsonFields : public FieldReader<JsonFields, JsonNode> {
 public:
  // The object must outlive this one. The constructor and every reader throw Error (failure,
  // location `file`, with the hint).
  JsonFields(const nlohmann::json& object, std::string file, std::string hint = "");

  // Returns null if the field is missing or null.
  const nlohmann::json* find(const std::string& name) const;
  const nlohmann::json& any(const std::string& name) const { return *required(name).value(); }
  const nlohmann::json& list(const std::string& name) const;

  const std::string& file() const { return file_; }
  // `wanted`: "an integer from 1 to 64".
  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;

  // FieldReader uses this.
  static constexpr const char* kUnknown = "is not a known field";
  [[noreturn]] void report(const JsonNode& node, const std::string& field,
                           const std::string& message, const std::string& hint) const;
  [[noreturn]] void report_missing(const std::string& field) const;
  JsonFields of_map(const JsonNode& map, std::string path) const {
    return {map, std::move(path), file_, hint_};
  }
  static std::string message_of(const JsonNode& node, const std::string& wanted);

 private:
  std::string file_;
  std::string hint_;

  JsonFields(JsonNode map, std::string path, std::string file, std::string hint)
      : FieldReader(map, std::move(path)), file_(std::move(file)), hint_(std::move(hint)) {}
};

}  // namespace roformer
