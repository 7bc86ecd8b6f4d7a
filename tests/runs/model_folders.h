// The small models of other programs that tests/interop keeps.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

inline std::filesystem::path model_folder(const std::string& name) {
  return std::filesystem::path(FIXTURES).parent_path() / "interop" / "models" / name;
}

}  // namespace roformer
