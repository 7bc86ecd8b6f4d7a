// What a line of text is without.
#pragma once

#include <string_view>

namespace roformer {

// True where nothing but white space of ASCII stands.
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace roformer
