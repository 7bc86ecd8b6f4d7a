// The abilities of a terminal and the width of text on it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// True for a terminal that understands escape sequences. A dumb one (of an editor, say) does not.
bool is_smart_terminal(int descriptor);

// True for such a terminal, unless its user has asked for plain text (https://no-color.org).
bool wants_color(int descriptor);

// The columns of the descriptor's terminal; `otherwise` if it is no terminal.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);

// The columns that UTF-8 text takes: two for a wide East Asian character, none for a combining
// mark, one for a byte that is not UTF-8.
std::size_t columns_of(std::string_view text);

// The text cut to this many columns, with an ellipsis if something is missing.
std::string cut_to_columns(std::string_view text, std::size_t columns);

// Clean lines (base/printable.h) of at most this many columns, broken only at blanks.
std::string wrapped(std::string_view text, std::size_t columns);

// Lines of at most this many columns, broken at spaces and inside words that are longer than a
// line. At least one line, which may be empty.
std::vector<std::string> wrap_text(std::string_view text, std::size_t columns);

}  // namespace roformer
