// Objects of this program's JSON files, written and read through one description of each struct:
//
//     template <class Stored, class Value>
//     void describe(Stored& stored, Value& axis) {
//       stored.field("title", axis.title);
//     }
//
// StoredWriter makes the object, and StoredReader refuses values of another type or out of range.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "base/hexadecimal.h"

namespace roformer {

// JSON has no infinities and no NaN; they are the words "inf", "-inf" and "nan".
nlohmann::ordered_json number_json(double value);
double number_of(const JsonFields& fields, const std::string& name);

class StoredWriter {
 public:
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  void field(const char* name, const std::string& value) { object[name] = value; }
  void field(const char* name, bool value) { object[name] = value; }
  void field(const char* name, double value) { object[name] = number_json(value); }
  void field(const char* name, const std::optional<double>& value) {
    object[name] = value ? number_json(*value) : nlohmann::ordered_json(nullptr);
  }
  void field(const char* name, const std::vector<double>& values) {
    object[name] = nlohmann::ordered_json::array();
    for (const double value : values) object[name].push_back(number_json(value));
  }
  // `number` and `numbers` write NaN and infinities as null, which reads as NaN.
  void number(const char* name, double value) { object[name] = value; }
  void amount(const char* name, double value) { object[name] = value; }  // at least 0
  void numbers(const char* name, const std::vector<double>& values) { object[name] = values; }
  void numbers(const char* name, const std::map<std::string, double>& values) {
    object[name] = values;
  }
  template <class Integer>
  void count(const char* name, Integer value) {  // at least 0
    object[name] = value;
  }
  void hash(const char* name, std::uint64_t value) { object[name] = hexadecimal(value); }
  void hashes(const char* name, const std::vector<std::uint64_t>& values) {
    object[name] = nlohmann::ordered_json::array();
    for (const std::uint64_t value : values) object[name].push_back(hexadecimal(value));
  }
  template <class Integer>
  void integer(const char* name, Integer value, std::int64_t, std::int64_t) {
    object[name] = static_cast<std::int64_t>(value);
  }
  template <class Choice>
  void word(const char* name, Choice value, FieldWords<Choice> words) {
    for (const auto& [word, choice] : words) {
      if (choice == value) object[name] = word;
    }
    ROFORMER_ASSERT(object.contains(name));
  }
  template <class Choice>
  void flag(const char* name, Choice value, Choice, Choice if_true) {
    object[name] = value == if_true;
  }
  template <class Value, class Describe>
  void map(const char* name, const Value& value, Describe describe) {
    StoredWriter inner;
    describe(inner, value);
    object[name] = std::move(inner.object);
  }
  template <class Value, class Describe>
  void list(const char* name, const std::vector<Value>& values, Describe describe) {
    object[name] = nlohmann::ordered_json::array();
    for (const Value& value : values) {
      StoredWriter inner;
      describe(inner, value);
      object[name].push_back(std::move(inner.object));
    }
  }
  void kind(const char* word) { object["kind"] = word; }
  void require(bool, const char*, const char*) {}
  // Whether a field that may be missing is described next: `written` decides for the writer, the
  // file for the reader.
  bool holds(const char*, bool written) const { return written; }
  template <class Value>
  bool holds(const char*, const std::optional<Value>& value) const {
    return value.has_value();
  }
};

class StoredReader {
 public:
  explicit StoredReader(JsonFields fields) : fields_(std::move(fields)) {}

  void field(const char* name, std::string& value) { value = fields_.text(name); }
  void field(const char* name, bool& value) { value = fields_.flag(name); }
  void field(const char* name, double& value) { value = number_of(fields_, name); }
  void field(const char* name, std::optional<double>& value) {
    value = fields_.any(name).is_null() ? std::nullopt : std::optional(number_of(fields_, name));
  }
  void field(const char* name, std::vector<double>& values);
  void number(const char* name, double& value) { value = fields_.number(name); }
  void amount(const char* name, double& value) { value = fields_.amount(name); }
  void numbers(const char* name, std::vector<double>& values) { values = fields_.numbers(name); }
  void numbers(const char* name, std::map<std::string, double>& values) {
    const JsonFields inner = fields_.object(name);
    for (const std::string& one : inner.names()) values[one] = inner.number(one);
  }
  template <class Integer>
  void count(const char* name, Integer& value) {
    if constexpr (std::is_unsigned_v<Integer>) {
      value = fields_.unsigned_count(name);
    } else {
      value = static_cast<Integer>(fields_.count(name));
    }
  }
  void hash(const char* name, std::uint64_t& value) { value = fields_.hash(name); }
  void hashes(const char* name, std::vector<std::uint64_t>& values) {
    values = fields_.hashes(name);
  }
  template <class Integer>
  void integer(const char* name, Integer& value, std::int64_t least, std::int64_t most) {
    value = static_cast<Integer>(
        fields_.count(name, between(static_cast<double>(least), static_cast<double>(most))));
  }
  template <class Choice>
  void word(const char* name, Choice& value, FieldWords<Choice> words) {
    value = fields_.word(name, words);
  }
  template <class Choice>
  void flag(const char* name, Choice& value, Choice if_false, Choice if_true) {
    value = fields_.flag(name) ? if_true : if_false;
  }
  template <class Value, class Describe>
  void map(const char* name, Value& value, Describe describe) {
    StoredReader inner(fields_.object(name));
    describe(inner, value);
  }
  template <class Value, class Describe>
  void list(const char* name, std::vector<Value>& values, Describe describe) {
    for (const JsonFields& item : fields_.objects(name)) {
      StoredReader inner(item);
      describe(inner, values.emplace_back());
    }
  }
  void kind(const char*) {}  // by which the reader was chosen
  // Refuses the field unless the condition holds for the values read so far.
  void require(bool holds, const char* name, const char* wanted) {
    if (!holds) fields_.refuse(name, wanted);
  }
  bool holds(const char* name, bool) const { return fields_.has(name); }
  template <class Value>
  bool holds(const char* name, std::optional<Value>& value) const {
    if (fields_.has(name)) value.emplace();
    return value.has_value();
  }

 private:
  JsonFields fields_;
};

}  // namespace roformer
