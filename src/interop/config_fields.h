// The fields of a config.json of Hugging Face's: each may be absent or null, which means its
// default, and must otherwise be of its type and within its range.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace roformer {

class ConfigFields {
 public:
  // The object and the file's name must outlive it. Every reader throws Error (failure, location
  // `file`).
  ConfigFields(const nlohmann::json& object, const std::string& file)
      : object_(object), file_(file) {}

  // Null where the field is absent or null.
  const nlohmann::json* find(const char* name) const;
  std::int64_t count(const char* name, std::int64_t standard, std::int64_t least,
                     std::int64_t most) const;
  double probability(const char* name, double standard) const;   // from 0 to below 1
  double small_number(const char* name, double standard) const;  // above 0, up to 1
  double number(const char* name, double standard, double least, double most) const;
  bool flag(const char* name, bool standard) const;
  std::string text(const char* name, const std::string& standard) const;

  // `wanted`: "an integer from 1 to 64".
  [[noreturn]] void refuse(const char* name, const std::string& wanted) const;

 private:
  const nlohmann::json& object_;
  const std::string& file_;
};

}  // namespace roformer
