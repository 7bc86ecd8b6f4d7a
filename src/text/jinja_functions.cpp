#include "text/jinja.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/printable.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::int64_t kLongestRange = 100'000;

[[noreturn]] void fail(std::string message) {
  throw JinjaProblem{std::move(message)};
}

const std::string& text_of_value(const JinjaValue& value, std::string_view what) {
  if (!value.is_string()) fail(fmt::format("{} wants a text, not {}", what, kind_of_value(value)));
  return value.get_ref<const std::string&>();
}

std::int64_t number_of_value(const JinjaValue& value, std::string_view what) {
  if (!value.is_number_integer()) {
    fail(fmt::format("{} wants a whole number, not {}", what, kind_of_value(value)));
  }
  return value.get<std::int64_t>();
}

std::string bounded(std::string text) {
  if (text.size() > kLongestChatText) fail("writes more than 1 MiB");
  return text;
}

std::int64_t length_of(const JinjaValue& value, std::string_view what) {
  if (value.is_string()) {
    return static_cast<std::int64_t>(count_characters(value.get_ref<const std::string&>()));
  }
  if (!value.is_structured()) fail(fmt::format("{} of {}", what, kind_of_value(value)));
  return static_cast<std::int64_t>(value.size());
}

bool is_python_space(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c)) || (c >= 0x1C && c <= 0x1F);
}

// Charges a search of the part, which in the worst case compares all of it at each place.
void charge_search(const std::string& text, const std::string& part, JinjaWork& work) {
  const std::uint64_t places = text.size() < part.size() ? 0 : text.size() - part.size() + 1;
  work.charge(text.size() + places * part.size());
}

struct Sides {
  bool left = true, right = true;
};

// The same as Python's strip(): removes white space, or the characters of `set`.
std::string stripped(const std::string& text, const JinjaArguments& arguments, Sides sides,
                     std::string_view what, JinjaWork& work) {
  const JinjaValue set = arguments.values.empty() ? JinjaValue() : arguments.values[0];
  std::u32string dropped;
  if (set.is_null()) {
    work.charge(text.size());
  } else {
    const std::string& characters = text_of_value(set, what);
    work.charge((text.size() + 1) * (characters.size() + 1));
    for (std::size_t i = 0; i < characters.size();) dropped += next_code_point(characters, i);
  }
  const auto goes = [&](std::size_t& at) {
    const char32_t c = next_code_point(text, at);
    return set.is_null() ? is_python_space(c) : dropped.find(c) != std::u32string::npos;
  };
  std::size_t begin = 0, end = text.size();
  for (std::size_t next = 0; sides.left && begin < end && goes(next);) begin = next;
  while (sides.right && begin < end) {
    const std::size_t last = character_before(text, end);
    std::size_t next = last;
    if (!goes(next)) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

std::string in_case(const std::string& text, bool upper, JinjaWork& work) {
  constexpr std::uint64_t kStepsOfByte = 16;  // two conversions and a look into tables
  work.charge(text.size() * kStepsOfByte);
  auto whole = icu::UnicodeString::fromUTF8(text);
  std::string result;
  (upper ? whole.toUpper(icu::Locale::getRoot()) : whole.toLower(icu::Locale::getRoot()))
      .toUTF8String(result);
  return bounded(std::move(result));
}

std::string capitalized(const std::string& text, JinjaWork& work) {
  std::size_t first = 0;
  if (!text.empty()) next_code_point(text, first);
  return in_case(text.substr(0, first), true, work) + in_case(text.substr(first), false, work);
}

std::string with_replacements(const std::string& text, const JinjaArguments& arguments,
                              JinjaWork& work) {
  if (arguments.values.size() != 2) fail("replace wants two texts");
  const std::string& from = text_of_value(arguments.values[0], "replace");
  const std::string& to = text_of_value(arguments.values[1], "replace");
  if (from.empty()) fail("replace wants a text to replace");
  charge_search(text, from, work);
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(from, done)) != std::string::npos;) {
    result.append(text, done, at - done);
    result = bounded(std::move(result) + to);
    done = at + from.size();
  }
  return bounded(std::move(result.append(text, done)));
}

JinjaValue split_text(const std::string& text, const JinjaArguments& arguments, JinjaWork& work) {
  work.charge(text.size());
  JinjaValue parts = JinjaValue::array();
  if (arguments.values.empty()) {
    std::string part;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t begin = i;
      const bool space = is_python_space(next_code_point(text, i));
      if (!space) part.append(text, begin, i - begin);
      if ((space || i == text.size()) && !part.empty()) {
        work.charge(kStepsOfValue);
        parts.push_back(std::exchange(part, ""));
      }
    }
    return parts;
  }
  const std::string& separator = text_of_value(arguments.values[0], "split");
  if (separator.empty()) fail("split wants a text to split at");
  charge_search(text, separator, work);
  const std::int64_t most =
      arguments.values.size() > 1 ? number_of_value(arguments.values[1], "split") : -1;
  std::size_t done = 0;
  for (std::size_t at = 0; (most < 0 || std::ssize(parts) < most) &&
                           (at = text.find(separator, done)) != std::string::npos;) {
    work.charge(kStepsOfValue);
    parts.push_back(text.substr(done, at - done));
    done = at + separator.size();
  }
  parts.push_back(text.substr(done));
  return parts;
}

// Appends to the text the result of Python's json.dumps(value, ensure_ascii=False).
void append_json(const JinjaValue& value, std::string& text) {
  if (value.is_array()) {
    text += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) text += ", ";
      append_json(value[i], text);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    const char* between = "";
    for (const auto& [name, entry] : value.items()) {
      text += std::exchange(between, ", ") + JinjaValue(name).dump() + ": ";
      append_json(entry, text);
    }
    text += '}';
  } else if (is_undefined(value)) {
    fail("tojson of an undefined value");
  } else {
    text += value.dump();
  }
  if (text.size() > kLongestChatText) fail("writes more than 1 MiB");
}

JinjaValue items_of(const JinjaValue& value) {
  if (!value.is_object()) fail(fmt::format("items of {}", kind_of_value(value)));
  JinjaValue list = JinjaValue::array();
  for (const auto& [name, entry] : value.items()) list.push_back(JinjaValue::array({name, entry}));
  return list;
}

bool are_equal(const JinjaValue& left, const JinjaValue& right) {
  if (is_undefined(left) || is_undefined(right)) return is_undefined(left) && is_undefined(right);
  return left == right;
}

bool holds_value(const JinjaValue& whole, const JinjaValue& part, JinjaWork& work) {
  if (whole.is_string()) {
    const auto& text = whole.get_ref<const std::string&>();
    const std::string& wanted = text_of_value(part, "in a text");
    charge_search(text, wanted, work);
    return text.find(wanted) != std::string::npos;
  }
  work.charge(steps_of_value(whole));
  if (whole.is_object()) return part.is_string() && whole.contains(part.get<std::string>());
  if (!whole.is_array()) fail(fmt::format("\"in\" of {}", kind_of_value(whole)));
  return std::ranges::any_of(whole, [&](const auto& entry) { return are_equal(entry, part); });
}

JinjaValue calculated(char operation, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (operation) {
    case '+':
      overflows = __builtin_add_overflow(left, right, &result);
      break;
    case '-':
      overflows = __builtin_sub_overflow(left, right, &result);
      break;
    case '*':
      overflows = __builtin_mul_overflow(left, right, &result);
      break;
    default:
      if (right <= 0) fail("divides by a number that is not above 0");
      result = left / right - (left % right < 0 ? 1 : 0);  // towards minus infinity, as Python
      if (operation == '%') result = left - result * right;
  }
  if (overflows) fail("calculates with numbers that are too large");
  return result;
}

bool is_less(const JinjaValue& left, const JinjaValue& right) {
  const bool numbers = left.is_number_integer() && right.is_number_integer();
  if (!numbers && !(left.is_string() && right.is_string())) {
    fail(fmt::format("compares {} and {}", kind_of_value(left), kind_of_value(right)));
  }
  return left < right;
}

const JinjaValue* argument_of(const JinjaArguments& arguments, std::size_t number,
                              std::string_view name) {
  if (number < arguments.values.size()) return &arguments.values[number];
  const auto found =
      std::ranges::find(arguments.named, name, [](const auto& entry) { return entry.first; });
  return found == arguments.named.end() ? nullptr : &found->second;
}

std::string joined(const JinjaValue& value, const JinjaArguments& arguments) {
  if (!value.is_array()) fail(fmt::format("join of {}", kind_of_value(value)));
  const JinjaValue* const given = argument_of(arguments, 0, "d");
  const std::string separator = given == nullptr ? "" : text_of_value(*given, "join");
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    text = bounded(std::move(text) + (i > 0 ? separator : "") + written_value(value[i]));
  }
  return text;
}

}  // namespace

bool is_undefined(const JinjaValue& value) {
  return value.is_discarded();
}

bool is_true(const JinjaValue& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return value.is_structured() && !value.empty();
}

std::string kind_of_value(const JinjaValue& value) {
  if (is_undefined(value)) return "an undefined value";
  if (value.is_null()) return "none";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a text";
  return value.is_array() ? "a list" : "a mapping";
}

void JinjaWork::charge(std::uint64_t steps) {
  if (steps > left_) fail("takes too many steps");
  left_ -= steps;
}

std::uint64_t steps_of_value(const JinjaValue& value) {
  std::uint64_t steps = kStepsOfValue;
  if (value.is_string()) {
    steps += value.get_ref<const std::string&>().size();
  } else if (value.is_structured()) {
    for (const JinjaValue& entry : value) steps += steps_of_value(entry);
  }
  // The names of a mapping are texts too.
  return value.is_object() ? steps + value.size() * kStepsOfValue : steps;
}

std::uint64_t steps_of_lookup(const JinjaValue& mapping) {
  constexpr std::uint64_t kStepsOfName = 16;
  return (mapping.size() + 1) * kStepsOfName;
}

std::string written_value(const JinjaValue& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (is_undefined(value)) return "";
  fail(fmt::format("writes {} as text", kind_of_value(value)));
}

JinjaValue jinja_operation(const std::string& name, const JinjaValue& left, const JinjaValue& right,
                           JinjaWork& work) {
  if (name == "==") return are_equal(left, right);
  if (name == "!=") return !are_equal(left, right);
  if (name == "in") return holds_value(right, left, work);
  if (name == "<") return is_less(left, right);
  if (name == ">") return is_less(right, left);
  if (name == "<=") return !is_less(right, left);
  if (name == ">=") return !is_less(left, right);
  if (name == "~") return bounded(written_value(left) + written_value(right));
  if (name == "+" && left.is_string() && right.is_string()) {
    return bounded(left.get<std::string>() + right.get<std::string>());
  }
  if (name == "+" && left.is_array() && right.is_array()) {
    JinjaValue list = left;
    for (const JinjaValue& entry : right) list.push_back(entry);
    if (std::ssize(list) > kLongestRange) fail("makes a list that is too long");
    return list;
  }
  if (name != "/" && left.is_number_integer() && right.is_number_integer()) {
    return calculated(name[0], left.get<std::int64_t>(), right.get<std::int64_t>());
  }
  fail(fmt::format("computes {} {} {}, which is not done here", kind_of_value(left), name,
                   kind_of_value(right)));
}

JinjaValue jinja_filter(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaWork& work) {
  if (name == "trim") return stripped(written_value(value), arguments, {}, "trim", work);
  if (name == "length" || name == "count") return length_of(value, name);
  if (name == "tojson") {
    if (!arguments.values.empty() || !arguments.named.empty()) {
      fail("has arguments of tojson, which are not computed here");
    }
    std::string text;
    append_json(value, text);
    return text;
  }
  if (name == "upper" || name == "lower") {
    return in_case(written_value(value), name == "upper", work);
  }
  if (name == "capitalize") return capitalized(written_value(value), work);
  if (name == "string") return written_value(value);
  if (name == "safe") return value;
  if (name == "join") return joined(value, arguments);
  if (name == "replace") return with_replacements(written_value(value), arguments, work);
  if (name == "items") return is_undefined(value) ? JinjaValue::array() : items_of(value);
  if (name == "list" && value.is_array()) return value;
  if ((name == "first" || name == "last") && value.is_array()) {
    if (value.empty()) return JinjaValue(JinjaValue::value_t::discarded);
    return name == "first" ? value.front() : value.back();
  }
  if (name == "default" || name == "d") {
    const JinjaValue* const otherwise = argument_of(arguments, 0, "default_value");
    const JinjaValue* const untrue = argument_of(arguments, 1, "boolean");
    const bool takes =
        is_undefined(value) || (untrue != nullptr && is_true(*untrue) && !is_true(value));
    if (!takes) return value;
    return otherwise == nullptr ? JinjaValue("") : *otherwise;
  }
  fail(fmt::format("has the filter {} of {}, which is not computed here", printable(name),
                   kind_of_value(value)));
}

bool jinja_test(const std::string& name, const JinjaValue& value, const JinjaArguments& arguments,
                JinjaWork& work) {
  if (name == "defined") return !is_undefined(value);
  if (name == "undefined") return is_undefined(value);
  if (name == "none") return value.is_null();
  if (name == "string") return value.is_string();
  if (name == "mapping") return value.is_object();
  if (name == "sequence" || name == "iterable") {
    return value.is_structured() || value.is_string() || is_undefined(value);
  }
  if (name == "number") return value.is_number() || value.is_boolean();
  if (name == "integer") return value.is_number_integer();
  if (name == "boolean") return value.is_boolean();
  if (name == "true") return value.is_boolean() && value.get<bool>();
  if (name == "false") return value.is_boolean() && !value.get<bool>();
  const bool one = arguments.values.size() == 1;
  if (one && (name == "equalto" || name == "eq")) return are_equal(value, arguments.values[0]);
  if (one && name == "ne") return !are_equal(value, arguments.values[0]);
  if (one && name == "in") return holds_value(arguments.values[0], value, work);
  fail(fmt::format("has the test {}, which is not computed here", printable(name)));
}

JinjaValue jinja_method(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaWork& work) {
  if (!arguments.named.empty()) fail(fmt::format("calls {} with names", printable(name)));
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool one = arguments.values.size() == 1;
    if (name == "strip") return stripped(text, arguments, {}, name, work);
    if (name == "lstrip") return stripped(text, arguments, {.right = false}, name, work);
    if (name == "rstrip") return stripped(text, arguments, {.left = false}, name, work);
    if (one && name == "startswith")
      return text.starts_with(text_of_value(arguments.values[0], name));
    if (one && name == "endswith") return text.ends_with(text_of_value(arguments.values[0], name));
    if (name == "split") return split_text(text, arguments, work);
    if (name == "replace") return with_replacements(text, arguments, work);
    if (name == "upper" || name == "lower") return in_case(text, name == "upper", work);
    if (name == "capitalize") return capitalized(text, work);
  }
  if (value.is_object()) {
    if (name == "items") return items_of(value);
    if (name == "get" && !arguments.values.empty()) {
      const JinjaValue found = jinja_item(value, arguments.values[0], work);
      if (!is_undefined(found)) return found;
      return arguments.values.size() > 1 ? arguments.values[1] : JinjaValue();
    }
  }
  fail(fmt::format("calls {} of {}, which is not computed here", printable(name),
                   kind_of_value(value)));
}

namespace {

// The characters of a text, each as a part of it.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    next_code_point(text, end);
    characters.push_back(text.substr(begin, end - begin));
  }
  return characters;
}

}  // namespace

JinjaValue jinja_item(const JinjaValue& value, const JinjaValue& index, JinjaWork& work) {
  const JinjaValue none(JinjaValue::value_t::discarded);
  if (value.is_object() && index.is_string()) {
    work.charge(steps_of_lookup(value));
    const auto found = value.find(index.get_ref<const std::string&>());
    if (found == value.end()) return none;
    work.charge(steps_of_value(*found));
    return *found;
  }
  if ((value.is_array() || value.is_string()) && index.is_number_integer()) {
    std::vector<std::string_view> characters;
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      work.charge(text.size());
      characters = characters_of(text);
    }
    const std::int64_t size = value.is_string() ? std::ssize(characters) : std::ssize(value);
    auto at = index.get<std::int64_t>();
    if (at < 0) at += size;
    if (at < 0 || at >= size) return none;
    if (value.is_string()) return characters[static_cast<std::size_t>(at)];
    const JinjaValue& found = value[static_cast<std::size_t>(at)];
    work.charge(steps_of_value(found));
    return found;
  }
  if (is_undefined(value)) fail("looks into an undefined value");
  return none;
}

JinjaValue jinja_slice(const JinjaValue& value, const JinjaValue& begin, const JinjaValue& end,
                       const JinjaValue& step, JinjaWork& work) {
  const std::int64_t by = step.is_null() ? 1 : number_of_value(step, "a slice");
  if (by != 1 && by != -1) fail("has a slice with a step other than 1 and -1");
  if (!value.is_string() && !value.is_array()) {
    fail(fmt::format("has a slice of {}", kind_of_value(value)));
  }
  work.charge(2 * steps_of_value(value));
  const std::int64_t size = length_of(value, "a slice");
  const auto bound = [&](const JinjaValue& given, std::int64_t otherwise) {
    if (given.is_null()) return otherwise;
    auto at = number_of_value(given, "a slice");
    if (at < 0) at = std::max<std::int64_t>(at + size, by > 0 ? 0 : -1);
    return std::min(at, by > 0 ? size : size - 1);
  };
  const std::int64_t last = bound(end, by > 0 ? size : -1);
  const std::int64_t first = bound(begin, by > 0 ? 0 : size - 1);
  // The same entries in their order: from `low` to before `high`.
  const std::int64_t low = by > 0 ? first : last + 1;
  const std::int64_t high = std::max(low, by > 0 ? last : first + 1);
  std::vector<std::string_view> characters;
  if (value.is_string()) characters = characters_of(value.get_ref<const std::string&>());
  std::string text;
  JinjaValue list = JinjaValue::array();
  for (std::int64_t i = 0; i < high - low; ++i) {
    const auto at = static_cast<std::size_t>(by > 0 ? low + i : high - 1 - i);
    value.is_string() ? void(text += characters[at]) : list.push_back(value[at]);
  }
  return value.is_string() ? JinjaValue(std::move(text)) : list;
}

JinjaValue jinja_range(const JinjaArguments& arguments, JinjaWork& work) {
  const std::size_t count = arguments.values.size();
  if (count == 0 || count > 2) fail("range wants one number or two");
  const std::int64_t begin = count == 1 ? 0 : number_of_value(arguments.values[0], "range");
  const std::int64_t end = number_of_value(arguments.values[count - 1], "range");
  JinjaValue list = JinjaValue::array();
  for (std::int64_t i = begin; i < end; ++i) {
    if (std::ssize(list) >= kLongestRange) fail("has a range that is too long");
    work.charge(kStepsOfValue);
    list.push_back(i);
  }
  return list;
}

}  // namespace roformer
