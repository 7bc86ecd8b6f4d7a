// Tables and charts as JSON, written and read through one description of each struct:
//
//     template <class Stored, class Value>
//     void describe(Stored& stored, Value& axis) {
//       stored.field("title", axis.title);
//     }
//
// StoredWriter makes the object, and StoredReader refuses everything that StoredWriter did not
// write.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "report/number.h"

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

 private:
  JsonFields fields_;
};

// The two fields of a number format.
template <class Stored, class Format>
void describe_format(Stored& stored, Format& format) {
  using Style = NumberFormat::Style;
  stored.template word<Style>("style", format.style,
                              {{"general", Style::general},
                               {"fixed", Style::fixed},
                               {"count", Style::count},
                               {"percent", Style::percent},
                               {"scientific", Style::scientific}});
  stored.integer("digits", format.digits, 0, 17);  // a double has no more
}

}  // namespace roformer
