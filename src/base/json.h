// JSON from files that anyone may have written. Refuses texts that nest more deeply than any file
// of this program before it parses them, because copying or writing such a value recurses. Messages
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

// Returns nothing if the text is not JSON in UTF-8 or nests more deeply than kDeepestJson.
std::optional<nlohmann::json> try_parse_json(std::string_view text);

// The treatment of a name that an object has twice. Either the last value counts, as in most
// readers, or the name is an error, for texts in which an ignored value would be a loss.
enum class RepeatedNames { last_counts, refused };

// Throws Error (failure, location `file`), which says where the text stops being JSON.
nlohmann::json parse_json(std::string_view text, const std::string& file,
                          RepeatedNames repeated = RepeatedNames::last_counts);
nlohmann::json read_json(const std::filesystem::path& file);

// The value of an integer that fits. Throws Error (failure, location `file`) for any other value;
// the library would convert a number out of range silently.
std::int64_t json_integer(const nlohmann::json& value, const std::string& file = "");

// Describes a value in messages: null, true, 3, "a text", a list of 5, an object of 2.
std::string describe_json(const nlohmann::json& value);

}  // namespace roformer
