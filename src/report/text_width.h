// How many terminal cells UTF-8 text takes up: wide East Asian characters two, combining marks
// none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

std::size_t display_width(std::string_view utf8);

// Lines of at most `width` cells, broken at spaces and, where a word is longer than a line, inside
// it. At least one line, which may be empty.
std::vector<std::string> wrap_text(std::string_view utf8, std::size_t width);

}  // namespace roformer
