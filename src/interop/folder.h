// What the readers of a Hugging Face folder ask of its files.
#pragma once

#include <filesystem>
#include <system_error>

namespace roformer {

inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace roformer
