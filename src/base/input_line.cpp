#include "base/input_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/error.h"

namespace roformer {

bool next_line(std::istream& input, const std::string& name, std::string& line) {
  errno = 0;
  const bool found = static_cast<bool>(std::getline(input, line));
  // The library's own buffer of standard input keeps its errors to itself.
  const bool failed = input.bad() || (&input == &std::cin && std::ferror(stdin) != 0);
  if (failed) {
    throw_failure(name, errno == 0 ? std::string("cannot be read")
                                   : std::string("cannot be read: ") + std::strerror(errno));
  }
  return found;
}

std::string as_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace roformer
