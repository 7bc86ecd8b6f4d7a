// The options of a golden case (`config` in index.json), each read as the kind that is wanted. One
// that is absent or null takes the definition's default; one of another kind throws Error
// (failure), which makes the case a miss.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace roformer {

[[noreturn]] void refuse(const nlohmann::json& config, const char* name, const std::string& wanted);

// Throws for an option that is not among the names.
void allow(const nlohmann::json& config, std::initializer_list<std::string_view> names);

bool given(const nlohmann::json& config, const char* name);
double number(const nlohmann::json& config, const char* name, double otherwise);
std::int64_t integer(const nlohmann::json& config, const char* name, std::int64_t otherwise);
std::int64_t needed(const nlohmann::json& config, const char* name);  // an integer without default
bool flag(const nlohmann::json& config, const char* name, bool otherwise);

// One of the words, the first of which is the default.
template <typename Choice>
Choice choice(const nlohmann::json& config, const char* name,
              std::initializer_list<std::pair<const char*, Choice>> words) {
  if (!given(config, name)) return words.begin()->second;
  std::string known;
  for (const auto& [word, value] : words) {
    if (config.at(name) == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  refuse(config, name, known);
}

}  // namespace roformer
