// Parses YAML text: whole files, and lists and maps that are the value of one key.
#pragma once

#include <yaml-cpp/node/node.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace roformer {

// Parses the one document of a file. All YAML is read through this function. Throws YAML::Exception
// for a text that is no YAML, for several documents (all after the first `---` would be lost), and
// for aliases that expand to far more values than the text has, so that code that walks the nodes
// needs no limit.
YAML::Node parse_document(const std::string& text);

// Does the same for a file, which may be one that comes with the program (base/shipped.h). Throws
// Error (usage, with file:line and the hint) for invalid YAML.
YAML::Node parse_document_of(const std::filesystem::path& file, const std::string& hint = "");

// For messages about the key `<<`, which is not merged.
inline constexpr const char* kMergeKey = "<<";
inline constexpr const char* kNoMerging = "merge keys are not read here";
inline constexpr const char* kInsteadOfMerging =
    "write the keys out; a configuration takes another file's by `extends: FILE`";

// Throws InvalidValue: `wanted` for a text that is no YAML, and a message if any map in it has a
// repeated key, of which one would be lost, or a merge key.
YAML::Node parse_value(std::string_view text, const std::string& wanted);

}  // namespace roformer
