// YAML as text: whole files, and the lists and maps that are the value of one key.
#pragma once

#include <yaml-cpp/node/node.h>

#include <string>
#include <string_view>

namespace roformer {

// The one document of a file, the only door to YAML for whatever is read of it. Throws
// YAML::Exception for a text that is none, or several (what stands behind `---` would be dropped),
// and for one whose aliases stand for far more than is written there: whoever walks the nodes needs
// no bound for them.
YAML::Node parse_document(const std::string& text);

// What reads a map says of the key `<<`, which is not merged.
inline constexpr const char* kMergeKey = "<<";
inline constexpr const char* kNoMerging = "merge keys are not read here";
inline constexpr const char* kInsteadOfMerging =
    "write the keys out; a configuration takes another file's by `extends: FILE`";

// Throws InvalidValue: `wanted` for a text that is no YAML, and where a map in it, however deep,
// has a key twice, of which one would be dropped, or a merge key.
YAML::Node parse_value(std::string_view text, const std::string& wanted);

}  // namespace roformer
