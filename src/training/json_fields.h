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
  // `path` is what stands before the names in messages ("window."). The object and the file's name
  // must outlive it. This and every reader throw Error (failure, location `file`).
  JsonFields(const nlohmann::json& object, std::string path, const std::string& file);

  std::vector<std::string> names() const;
  const nlohmann::json& any(const std::string& name) const;
  std::int64_t count(const std::string& name) const;  // not negative
  double number(const std::string& name) const;       // null, JSON's only word for it, is NaN
  double amount(const std::string& name) const;       // not negative
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  JsonFields object(const std::string& name) const;
  const nlohmann::json& list(const std::string& name) const;

  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;

 private:
  const nlohmann::json& object_;
  std::string path_;
  const std::string& file_;
};

}  // namespace roformer
