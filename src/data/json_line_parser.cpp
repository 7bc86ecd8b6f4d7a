#include "data/json_line_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress.h"
#include "text/utf8.h"

namespace roformer {
namespace {

using nlohmann::json;

// Builds the value from the events of the library's parser. Stops if a name occurs twice or if
// lists and objects nest too deeply.
class ValueBuilder final : public nlohmann::json_sax<json> {
 public:
  json value;
  std::string problem;       // why it stopped
  std::size_t position = 0;  // or the byte, from 1, where the text stops being JSON

  bool null() override { return add(nullptr); }
  bool boolean(bool given) override { return add(given); }
  bool number_integer(std::int64_t given) override { return add(given); }
  bool number_unsigned(std::uint64_t given) override { return add(given); }
  bool number_float(double given, const std::string&) override { return add(given); }
  bool string(std::string& given) override { return add(std::move(given)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const auto [place, is_new] = open_.back()->get_ref<json::object_t&>().emplace(name, nullptr);
    if (!is_new) problem = "names " + printable(name) + " twice";
    named_ = &place->second;
    return is_new;
  }
  bool parse_error(std::size_t byte, const std::string&, const json::exception&) override {
    position = byte;
    return false;
  }

 private:
  std::vector<json*> open_;  // lists and objects that are not at their ends
  json* named_ = nullptr;    // the place for the value of the name read last

  json* place(json given) {
    if (open_.empty()) return &(value = std::move(given));
    if (open_.back()->is_object()) return &(*named_ = std::move(given));
    open_.back()->push_back(std::move(given));
    return &open_.back()->back();
  }
  bool add(json given) {
    place(std::move(given));
    return true;
  }
  bool open(json given) {
    if (std::ssize(open_) == kDeepestJson) {
      problem = fmt::format("nests lists and objects deeper than {}", kDeepestJson);
      return false;
    }
    open_.push_back(place(std::move(given)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
};

// Turns a line that is almost JSON into strict JSON.
class LineRepair {
 public:
  explicit LineRepair(std::string_view line) : line_(line) {
    while (at_ < line_.size()) {
      if (static_cast<signed char>(line_[at_]) < 0) {
        take_bytes();
      } else if (in_text_) {
        take_letter();
      } else {
        take_value();
      }
    }
  }

  const std::string& text() const { return text_; }
  std::uint64_t replaced() const { return replaced_; }
  // The position in the line of a byte of the text, both counted from 1.
  std::size_t original(std::size_t position) const {
    std::size_t result = position;
    for (const auto& [end, shift] : shifts_) {
      if (end < position) result = static_cast<std::size_t>(static_cast<long>(position) + shift);
    }
    return result;
  }

 private:
  std::string_view line_;
  std::size_t at_ = 0;
  bool in_text_ = false;
  std::string text_;
  std::uint64_t replaced_ = 0;
  // From byte `first` of the text on, how many bytes its position is before its position in the
  // line.
  std::vector<std::pair<std::size_t, long>> shifts_;

  std::string_view rest() const { return line_.substr(at_); }
  void copy(std::size_t bytes) {
    text_ += line_.substr(at_, bytes);
    at_ = std::min(at_ + bytes, line_.size());
  }
  void put(std::string_view instead, std::size_t bytes) {
    text_ += instead;
    at_ += bytes;
    if (instead.size() != bytes) {
      shifts_.emplace_back(text_.size(), static_cast<long>(at_) - static_cast<long>(text_.size()));
    }
  }

  // Bytes beyond ASCII.
  void take_bytes() {
    std::size_t bytes = 0;
    while (at_ + bytes < line_.size() && static_cast<signed char>(line_[at_ + bytes]) < 0) ++bytes;
    std::string storage;
    put(repair_utf8(line_.substr(at_, bytes), storage, replaced_), bytes);
  }

  // The UTF-16 unit that "\uXXXX" names.
  static std::optional<unsigned> unit_of(std::string_view escape) {
    if (!escape.starts_with("\\u") || escape.size() < 6) return std::nullopt;
    unsigned unit = 0;
    for (const char c : escape.substr(2, 4)) {
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        unit = 16 * unit + static_cast<unsigned>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        unit = 16 * unit + static_cast<unsigned>(lower - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return unit;
  }

  void take_letter() {
    constexpr std::size_t kEscape = 6;  // \uXXXX
    const std::optional<unsigned> unit = unit_of(rest());
    if (unit && *unit >= 0xD800 && *unit < 0xE000) {
      const std::optional<unsigned> next = unit_of(rest().substr(kEscape));
      if (*unit < 0xDC00 && next && *next >= 0xDC00 && *next < 0xE000) return copy(2 * kEscape);
      ++replaced_;
      return put("\\ufffd", kEscape);
    }
    if (line_[at_] == '\\' && at_ + 1 < line_.size() &&
        static_cast<signed char>(line_[at_ + 1]) > 0) {
      return copy(2);
    }
    in_text_ = line_[at_] != '"';
    copy(1);
  }

  void take_value() {
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (rest().starts_with(word)) return put("null", word.size());
    }
    if (line_[at_] == '-' || (line_[at_] >= '0' && line_[at_] <= '9')) {
      const std::string number(rest().substr(0, rest().find_first_not_of("0123456789+-.eE")));
      if (std::isinf(std::strtod(number.c_str(), nullptr))) return put("null", number.size());
      return copy(number.size());
    }
    in_text_ = line_[at_] == '"';
    copy(1);
  }
};

// Why the line is not an object. "" if `result` holds the object.
std::string problem_of(std::string_view line, json& result, std::uint64_t& replaced) {
  ValueBuilder builder;
  const bool strict = json::sax_parse(line, &builder);
  if (!strict && builder.problem.empty()) {
    const LineRepair repair(line);
    builder = {};
    if (json::sax_parse(repair.text(), &builder)) {
      replaced = repair.replaced();
    } else if (builder.problem.empty()) {
      return fmt::format("is not JSON from column {} on", repair.original(builder.position));
    }
  }
  if (!builder.problem.empty()) return builder.problem;
  if (!builder.value.is_object()) {
    return "is " + describe_json(builder.value) + ", wanted an object";
  }
  result = std::move(builder.value);
  return "";
}

}  // namespace

JsonLineParser::JsonLineParser(JsonLineOptions options) : options_(std::move(options)) {}

std::optional<json> JsonLineParser::parse(std::string_view line, std::int64_t number) {
  json object;
  replaced_ = 0;
  const std::string problem = problem_of(line, object, replaced_);
  if (problem.empty()) return object;
  const std::string location = fmt::format("{}:{}", options_.file, number);
  if (!options_.skip_broken) throw_failure(location, problem, options_.hint);
  if (left_out_++ == 0) log::warn("{}: {}; it is left out", location, problem);
  return std::nullopt;
}

std::uint64_t JsonLineParser::replaced_in(std::string_view text) const {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::uint64_t found = 0;
  for (std::size_t at = 0; found < replaced_; at += kReplacement.size(), ++found) {
    at = text.find(kReplacement, at);
    if (at == std::string_view::npos) break;
  }
  return found;
}

void JsonLineParser::finish() {
  if (left_out_ > 1) {
    log::warn("{}: {} are no JSON objects and are left out", options_.file,
              format_counted(left_out_, "line"));
  }
  left_out_ = 0;
}

}  // namespace roformer
