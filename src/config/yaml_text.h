// YAML as text: whole files, and the lists and maps that are the value of one key.
#pragma once

#include <yaml-cpp/node/node.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace roformer {

// Parses the one document of a file; all YAML is read through this function. Throws YAML::Exception
// for a text that is no YAML, for several documents (those after `---` would be dropped), and for
// aliases that expand to far more than is written there, so that nobody who walks the nodes needs a
// bound.
YAML::Node parse_document(const std::string& text);

// The same for a file. Throws Error (usage, with file:line and the hint) for one that is no YAML.
YAML::Node parse_document_of(const std::filesystem::path& file, const std::string& hint = "");

// Messages about the key `<<`, which is not merged.
inline constexpr const char* kMergeKey = "<<";
inline constexpr const char* kNoMerging = "merge keys are not read here";
inline constexpr const char* kInsteadOfMerging =
    "write the keys out; a configuration takes another file's by `extends: FILE`";

// Throws InvalidValue: `wanted` for a text that is no YAML, and where a map in it, however deep,
// has a key twice, of which one would be dropped, or a merge key.
YAML::Node parse_value(std::string_view text, const std::string& wanted);

}  // namespace roformer
