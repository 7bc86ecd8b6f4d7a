// YAML as text: whole files, and the lists and maps that are the value of one key.
#pragma once

#include <yaml-cpp/node/node.h>

#include <string>
#include <string_view>

namespace roformer {

// The one document of a file. Throws YAML::Exception for a text that is none, or several: what
// stands behind `---` would be dropped.
YAML::Node parse_document(const std::string& text);

// Throws InvalidValue: `wanted` for a text that is no YAML, and where a map in it, however deep,
// has a key twice, of which one would be dropped.
YAML::Node parse_value(std::string_view text, const std::string& wanted);

}  // namespace roformer
