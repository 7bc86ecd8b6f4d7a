// What the terminal behind a descriptor can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roformer {

// True for a terminal whose user has not asked for plain text (https://no-color.org).
bool wants_color(int descriptor);

// Columns of the terminal behind the descriptor; `otherwise` for what is none.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);

// The text cut to so many columns, with an ellipsis where something is missing. A code point is
// counted as one column.
std::string cut_to_columns(std::string_view text, std::size_t columns);

// A code point is counted as one column, too.
std::size_t columns_of(std::string_view text);
// Clean lines (base/printable.h) of at most so many columns, broken at blanks.
std::string wrapped(std::string_view text, std::size_t columns);

}  // namespace roformer
