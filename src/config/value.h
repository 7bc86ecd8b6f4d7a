// Converts values between a user's text and typed values. Throws InvalidValue for a text that is no
// value of its type. The exception says what is allowed; the loader turns it into a problem with a
// location.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/period.h"
#include "base/range.h"

namespace roformer {

struct InvalidValue : std::runtime_error {
  InvalidValue(const std::string& wanted, std::string hint_text = "")
      : std::runtime_error(wanted), hint(std::move(hint_text)) {}
  std::string hint;
};

// The four functions below are the only readers of numbers in configurations, studies and recipes.
// An integer may end in k, M or G (10^3, 10^6, 10^9). A leading zero (010) is refused because some
// YAML readers take 010 for eight.
std::int64_t parse_integer(std::string_view text, const Range& range);
std::uint64_t parse_seed(std::string_view text);
double parse_number(std::string_view text, const Range& range);
bool parse_boolean(std::string_view text);
// The index of the word in `words`.
std::size_t parse_word(std::string_view text, const std::vector<std::string>& words);

// The shortest decimal that reads back as the same double: "0.001", "1e-08".
std::string print_number(double value);
// The text in YAML's double quotes. Escapes the characters that base/printable.h replaces, because
// people look at a stranger's configuration before they use it.
std::string yaml_quoted(std::string_view text);
// An absolute path in YAML's quotes, for lists in text form.
std::string quoted_path(const std::filesystem::path& path);
// "one of a, b, c".
std::string one_of(const std::vector<std::string>& words);

}  // namespace roformer
