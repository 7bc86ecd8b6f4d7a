// A text file whose first line is a comment with a checksum of the rest, for stored configurations.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace roformer {

std::string checksummed_lines(std::string_view lines);

// Whether a text begins with such a line, whatever follows it.
bool begins_with_seal(std::string_view text);

// Throws Error (failure) where the file begins with a checksum that the rest does not fit. A file
// without such a line is accepted: users write those.
void check_checksummed_lines(const std::filesystem::path& file);

}  // namespace roformer
