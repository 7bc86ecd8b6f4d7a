// JSON files with a checksum of their values, so that a flipped digit is found. The checksum covers
// the values only: layout and the order of names are free. Older files without a checksum are read
// as they are.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/inner_path.h"

namespace roformer {

// The text of an object with a field "checksum". Strings that are not UTF-8 are repaired rather
// than refused, since a path may hold any bytes.
std::string checksummed_text(const nlohmann::ordered_json& object);
void write_checksummed_json(const InnerPath& file, const nlohmann::ordered_json& object);

// The value without its "checksum". Throws Error (failure) where the checksum does not fit, the
// file is not JSON, or an object has a name twice.
nlohmann::json read_checksummed_json(const std::filesystem::path& file);

}  // namespace roformer
