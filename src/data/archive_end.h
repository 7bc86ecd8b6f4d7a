// What libarchive does not look at: whether an archive is whole at its end, with nothing before or
// after it that would not be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

// As much of the end of a file as the functions below want to see: a zip's comment has up to 64
// KiB.
constexpr std::size_t kArchiveEnd = (1 << 16) + 128;

struct ArchiveEnd {
  std::string_view bytes;  // the last ones of the file, at most kArchiveEnd
  std::uint64_t size = 0;  // of the file
};

// Throw Error (failure) naming the file.
void require_tar_end(const std::string& file, const ArchiveEnd& end);
// `members`: how many were met, folders among them.
void require_zip_end(const std::string& file, const ArchiveEnd& end, std::uint64_t members);

}  // namespace roformer
