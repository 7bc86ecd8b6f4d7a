#include "experiments/stored_format.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/json.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr StoredWords<NumberFormat::Style, 5> kStyles{
    {{"general", NumberFormat::Style::general},
     {"fixed", NumberFormat::Style::fixed},
     {"count", NumberFormat::Style::count},
     {"percent", NumberFormat::Style::percent},
     {"scientific", NumberFormat::Style::scientific}}};
constexpr std::int64_t kMostDigits = 17;  // a double has no more

}  // namespace

ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

ordered_json format_json(const NumberFormat& format) {
  return {{"style", word_of(kStyles, format.style)}, {"digits", format.digits}};
}

void StoredReader::refuse(const std::string& wanted, const json& got) const {
  throw_failure(file_, fmt::format("is no {} that was stored: got {}, wanted {}", what_,
                                   describe_json(got), wanted));
}

void StoredReader::refuse_word(const char* example, const json& got) const {
  refuse(fmt::format("a word such as \"{}\"", example), got);
}

const json& StoredReader::field(const json& object, const char* name) const {
  if (!object.is_object() || !object.contains(name)) {
    refuse(fmt::format("an object with \"{}\"", name), object);
  }
  return object[name];
}

const json& StoredReader::list(const json& value, const char* what) const {
  if (!value.is_array()) refuse(fmt::format("a list for {}", what), value);
  return value;
}

std::string StoredReader::text(const json& value) const {
  if (!value.is_string()) refuse("a text", value);
  return value.get<std::string>();
}

std::int64_t StoredReader::integer(const json& value, std::int64_t least, std::int64_t most) const {
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0;
  const bool good = value.is_number_integer() && !huge && value.get<std::int64_t>() >= least &&
                    value.get<std::int64_t>() <= most;
  if (!good) refuse(fmt::format("an integer from {} to {}", least, most), value);
  return value.get<std::int64_t>();
}

double StoredReader::number(const json& value) const {
  using Limits = std::numeric_limits<double>;
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return Limits::quiet_NaN();
  if (value == "inf") return Limits::infinity();
  if (value == "-inf") return -Limits::infinity();
  refuse("a number", value);
}

NumberFormat StoredReader::format(const json& value) const {
  return {.style = one_of(kStyles, field(value, "style")),
          .digits = static_cast<int>(integer(field(value, "digits"), 0, kMostDigits))};
}

}  // namespace roformer
