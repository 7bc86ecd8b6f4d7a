// JSON files that carry a checksum of their own values, so that a flipped digit is found. What is
// sealed is the meaning: layout and the order of names are free, and a file without a checksum (an
// older one) is read as it is.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/inner_path.h"

namespace roformer {

// The text of an object with its field "checksum" added. Texts in it that are not UTF-8 are
// repaired rather than refused: a path may hold any bytes.
std::string checksummed_text(const nlohmann::ordered_json& object);
void write_checksummed_json(const InnerPath& file, const nlohmann::ordered_json& object);

// The value without its "checksum". Throws Error (failure) where that does not fit, where the file
// is not JSON, or where a name stands twice in an object.
nlohmann::json read_checksummed_json(const std::filesystem::path& file);

}  // namespace roformer
