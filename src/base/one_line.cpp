#include "base/one_line.h"

#include <algorithm>

namespace roformer {

std::string as_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace roformer
