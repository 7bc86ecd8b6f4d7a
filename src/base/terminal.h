// What a terminal can show, and how wide text is on it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// True for a terminal whose user has not asked for plain text (https://no-color.org).
bool wants_color(int descriptor);

// Columns of the terminal of the descriptor; `otherwise` where that is no terminal.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);

// The columns that UTF-8 text takes up: wide East Asian characters two, combining marks none, a
// byte that is not UTF-8 one.
std::size_t columns_of(std::string_view text);

// The text cut to so many columns, with an ellipsis where something is missing.
std::string cut_to_columns(std::string_view text, std::size_t columns);

// Clean lines (base/printable.h) of at most so many columns, broken at blanks only.
std::string wrapped(std::string_view text, std::size_t columns);

// Lines of at most so many columns, broken at spaces and, where a word is longer than a line,
// inside it. At least one line, which may be empty.
std::vector<std::string> wrap_text(std::string_view text, std::size_t columns);

}  // namespace roformer
