#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"

namespace roformer {
namespace {

using nlohmann::json;

// Counts brackets outside strings. It may miscount a text that is not JSON; the parser, which does
// not recurse, refuses such a text.
bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// Checks a text only for repeated names in objects. The library's parser can do so with a callback,
// but takes quadratic time for an object that contains many objects.
class NameWatcher final : public nlohmann::json_sax<json> {
 public:
  explicit NameWatcher(const std::string& file) : file_(file) {}

  bool start_object(std::size_t) override {
    names_.emplace_back();
    return true;
  }
  bool end_object() override {
    names_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    if (!names_.back().insert(name).second) {
      throw_failure(file_, "names " + printable(name) + " twice");
    }
    return true;
  }
  // Stops reading. The parser that makes the value reports the mistake.
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> names_;  // of the enclosing objects
};

// "line 3, column 7", counted from 1: the byte at which the parser stopped. Returns only the column
// if the text has no line ends, because it may be one line of a file.
std::string position_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 for the first line
  const std::size_t column = before.size() - line_start + 1;
  if (text.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
  return fmt::format("line {}, column {}", 1 + std::ranges::count(before, '\n'), column);
}

}  // namespace

std::optional<json> try_parse_json(std::string_view text) {
  if (nests_too_deeply(text)) return std::nullopt;
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

json parse_json(std::string_view text, const std::string& file, RepeatedNames repeated) {
  if (nests_too_deeply(text)) {
    throw_failure(file, fmt::format("nests lists and objects deeper than {}", kDeepestJson));
  }
  if (repeated == RepeatedNames::refused) {
    NameWatcher watcher(file);
    json::sax_parse(text, &watcher);
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    if (is_lfs_pointer(text)) throw_lfs_pointer(file);
    throw_failure(file, text.empty() ? "is empty, not JSON"
                                     : "is not JSON from " + position_in(text, error.byte) + " on");
  } catch (const json::exception&) {  // a number that fits no type
    throw_failure(file, "holds a number that is too large");
  }
}

json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file, kLargestDescription), file.string());
}

std::int64_t json_integer(const nlohmann::json& value, const std::string& file) {
  const bool fits =
      value.is_number_integer() &&
      (!value.is_number_unsigned() ||
       value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) throw_failure(file, "has " + describe_json(value) + " where an integer is wanted");
  return value.get<std::int64_t>();
}

std::string describe_json(const json& value) {
  switch (value.type()) {
    case json::value_t::object:
      return fmt::format("an object of {}", value.size());
    case json::value_t::array:
      return fmt::format("a list of {}", value.size());
    case json::value_t::string:
      return printable(value.get_ref<const std::string&>());
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::number_integer:
      return fmt::format("{}", value.get<std::int64_t>());
    case json::value_t::number_unsigned:
      return fmt::format("{}", value.get<std::uint64_t>());
    case json::value_t::number_float:
      return fmt::format("{}", value.get<double>());
    default:
      return "null";
  }
}

}  // namespace roformer
