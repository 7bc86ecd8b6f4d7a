// Checked reading of a JSON object that may be anything: every field is there and of its type, or
// one clear line says which is not.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace roformer {

class JsonFields {
 public:
  // The object must outlive it. This and every reader throw Error (failure, location `file`, with
  // the hint).
  JsonFields(const nlohmann::json& object, std::string file, std::string hint = "");

  bool has(const std::string& name) const { return object_.contains(name); }
  std::vector<std::string> names() const;
  const nlohmann::json& any(const std::string& name) const;
  std::int64_t count(const std::string& name) const;  // not negative
  std::uint64_t unsigned_count(const std::string& name) const;
  double number(const std::string& name) const;  // null, JSON's only word for it, is NaN
  double amount(const std::string& name) const;  // not negative
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::uint64_t hash(const std::string& name) const;  // as hexadecimal() writes it
  std::vector<std::uint64_t> hashes(const std::string& name) const;
  JsonFields object(const std::string& name) const;
  std::vector<JsonFields> objects(const std::string& name) const;  // of a list
  const nlohmann::json& list(const std::string& name) const;

  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;

 private:
  const nlohmann::json& object_;
  std::string file_;
  std::string hint_;
  std::string path_;  // stands before the names in messages: "window."

  JsonFields inside(const nlohmann::json& object, const std::string& path) const;
};

}  // namespace roformer
