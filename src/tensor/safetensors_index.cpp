#include "tensor/safetensors_index.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace roformer {
namespace {

bool is_file_name(const nlohmann::json& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string::npos &&
         std::filesystem::path(name).filename() == name;
}

}  // namespace

std::map<std::string, std::string> parse_safetensors_index(std::string_view text,
                                                           const std::string& file) {
  const nlohmann::json index = parse_json(text, file);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    throw_failure(file, "is not an index of safetensors files: no weight_map");
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, shard] : index["weight_map"].items()) {
    if (!is_file_name(shard)) {
      throw_failure(file, "names a shard for " + printable(name) + " that is not a file name");
    }
    files[name] = shard.get<std::string>();
  }
  return files;
}

}  // namespace roformer
