// Text as the translation metrics see it. Spaces and lower case are those of Python's str.isspace,
// str.split and str.lower, because the published scores come from there. All text is valid UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

std::u32string to_code_points(std::string_view text);
// Values above the last code point are left out.
std::string to_utf8(std::u32string_view text);

// Unicode's spaces and the four separators U+001C to U+001F.
bool is_space(char32_t code_point);

std::string_view without_trailing_spaces(std::string_view text);
std::string_view without_outer_spaces(std::string_view text);

// The parts between spaces, none of them empty; they point into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// The same parts with one space between.
std::string joined_words(std::string_view text);

// Unicode's full mapping for no language in particular: a final sigma is one, and a capital I with
// a dot becomes two code points.
std::string lower_case(std::string_view text);

}  // namespace roformer
