// What tables and charts that are stored as JSON have in common: numbers that JSON lacks, number
// formats, and a reader that refuses what was not written by their writers.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "report/number.h"

namespace roformer {

// Words for the values of an enumeration.
template <typename Value, std::size_t kCount>
using StoredWords = std::array<std::pair<const char*, Value>, kCount>;

template <typename Value, std::size_t kCount>
const char* word_of(const StoredWords<Value, kCount>& words, Value value) {
  for (const auto& [word, meaning] : words) {
    if (meaning == value) return word;
  }
  ROFORMER_ASSERT(!"a value with a word");
  return "";
}

// JSON has no infinities and no NaN; they are words.
nlohmann::ordered_json number_json(double value);
nlohmann::ordered_json format_json(const NumberFormat& format);

class StoredReader {
 protected:
  // `what` it reads, "table"; `file` is named in every refusal.
  StoredReader(const std::string& file, const char* what) : file_(file), what_(what) {}

  [[noreturn]] void refuse(const std::string& wanted, const nlohmann::json& got) const;
  const nlohmann::json& field(const nlohmann::json& object, const char* name) const;
  const nlohmann::json& list(const nlohmann::json& value, const char* what) const;
  std::string text(const nlohmann::json& value) const;
  std::int64_t integer(const nlohmann::json& value, std::int64_t least, std::int64_t most) const;
  double number(const nlohmann::json& value) const;
  NumberFormat format(const nlohmann::json& value) const;
  [[noreturn]] void refuse_word(const char* example, const nlohmann::json& got) const;

  template <typename Value, std::size_t kCount>
  Value one_of(const StoredWords<Value, kCount>& words, const nlohmann::json& value) const {
    for (const auto& [word, meaning] : words) {
      if (value == word) return meaning;
    }
    refuse_word(words.front().first, value);
  }

 private:
  const std::string& file_;
  const char* what_;
};

}  // namespace roformer
