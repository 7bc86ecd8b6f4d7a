// Values as a user writes them: text to a typed value and back, each with the words for what is
// allowed. A text that is not a value of its type is refused with InvalidValue, which the loader
// turns into a problem with its location.
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

// The only readers of numbers, of configurations, studies and recipes alike. A leading zero (010)
// is refused: it is eight to one reader of YAML and ten to the next. Also 50k, 1M and 2G:
// thousands, millions and thousand millions, as in a period.
std::int64_t parse_integer(std::string_view text, const Range& range);
std::uint64_t parse_seed(std::string_view text);
double parse_number(std::string_view text, const Range& range);
bool parse_boolean(std::string_view text);
// The index of the word in `words`.
std::size_t parse_word(std::string_view text, const std::vector<std::string>& words);

// The shortest decimal that reads back to the same double: "0.001", "1e-08".
std::string print_number(double value);
// In YAML's double quotes, as the same text is read again. What base/printable.h would not show is
// escaped, since a stranger's configuration is looked at before it is used.
std::string yaml_quoted(std::string_view text);
// An absolute path in YAML's quotes, for lists that are text.
std::string quoted_path(const std::filesystem::path& path);
// "one of a, b, c".
std::string one_of(const std::vector<std::string>& words);

}  // namespace roformer
