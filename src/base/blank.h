// Finds lines of text without content.
#pragma once

#include <string_view>

namespace roformer {

// True for text that consists only of ASCII white space.
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace roformer
