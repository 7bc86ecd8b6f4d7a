// For maps with string keys that are searched by string views: std::unordered_map<std::string, T,
// TextHash, std::equal_to<>>.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace roformer {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

}  // namespace roformer
