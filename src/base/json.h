// JSON from files that anyone may have written. Texts that nest deeper than any file of this program
// are refused before they are parsed, since copying or writing such a value recurses. Messages
// describe a value without repeating it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

inline constexpr int kDeepestJson = 100;  // arrays and objects inside each other

// The value, or nothing where the text is not JSON in UTF-8 or nests deeper than kDeepestJson.
std::optional<nlohmann::json> try_parse_json(std::string_view text);

// A name that an object has twice: its last value counts, as for most readers, or it is an error,
// where ignoring a value would lose something.
enum class RepeatedNames { last_counts, refused };

// The value; throws Error (failure, location `file`) that says where the text stops being JSON.
nlohmann::json parse_json(std::string_view text, const std::string& file,
                          RepeatedNames repeated = RepeatedNames::last_counts);
nlohmann::json read_json(const std::filesystem::path& file);

// The value of an integer that fits. Throws Error (failure, location `file`) for any other value:
// the library would convert a number that is out of range without a word.
std::int64_t json_integer(const nlohmann::json& value, const std::string& file = "");

// For messages: null, true, 3, "a text", a list of 5, an object of 2.
std::string describe_json(const nlohmann::json& value);

}  // namespace roformer
