#include "data/archive_end.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/progress.h"

namespace roformer {
namespace {

constexpr std::size_t kTarBlock = 512;

// Records at the end of a zip (APPNOTE 4.3.14 to 4.3.16), without their texts of any length.
constexpr std::size_t kZipEnd = 22;
constexpr std::size_t kZip64Locator = 20;
constexpr std::size_t kZip64End = 56;
constexpr std::uint64_t kMostInShortRecord = 0xffff;  // members

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Where the last end record begins whose comment reaches to the end of the file, or to zeros.
std::size_t find_zip_end(std::string_view end) {
  std::size_t at = end.rfind("PK\5\6");
  for (; at != std::string_view::npos; at = at == 0 ? at - 1 : end.rfind("PK\5\6", at - 1)) {
    if (at + kZipEnd > end.size()) continue;
    const std::size_t after = at + kZipEnd + little_endian(end, at + 20, 2);
    if (after <= end.size() && is_zero(end.substr(after))) return at;
  }
  return at;
}

struct ZipDirectory {
  bool is_long = false;
  std::uint64_t members = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;  // where it must end
};

// The end record at `at` of the file's end, or the long one before it, which also counts what is
// larger; nothing where that is not where it says.
std::optional<ZipDirectory> directory_of(const ArchiveEnd& end, std::size_t at) {
  const std::string_view bytes = end.bytes;
  const bool is_long =
      at >= kZip64Locator + kZip64End && bytes.substr(at - kZip64Locator).starts_with("PK\6\7");
  if (!is_long) {
    return ZipDirectory{.members = little_endian(bytes, at + 10, 2),
                        .bytes = little_endian(bytes, at + 12, 4),
                        .offset = little_endian(bytes, at + 16, 4),
                        .end = end.size - bytes.size() + at};
  }
  const std::uint64_t place = little_endian(bytes, at - kZip64Locator + 8, 8);
  const std::uint64_t record = place - (end.size - bytes.size());
  if (record > at - kZip64Locator - kZip64End || !bytes.substr(record).starts_with("PK\6\6")) {
    return std::nullopt;
  }
  return ZipDirectory{.is_long = true,
                      .members = little_endian(bytes, record + 32, 8),
                      .bytes = little_endian(bytes, record + 40, 8),
                      .offset = little_endian(bytes, record + 48, 8),
                      .end = place};
}

[[noreturn]] void refuse_archive(const std::string& file, const std::string& problem,
                                 const std::string& hint = "") {
  throw_failure(file, "cannot read: " + problem, hint);
}

}  // namespace

void require_tar_end(const std::string& file, const ArchiveEnd& end) {
  const std::size_t size = end.bytes.size();
  if (size >= kTarBlock && is_zero(end.bytes.substr(size - kTarBlock))) return;
  refuse_archive(file, "the archive is cut: it ends without the zeros that end a tar",
                 "some programs leave them out; where nothing is missing, append 1,024 of them");
}

void require_zip_end(const std::string& file, const ArchiveEnd& end, std::uint64_t members) {
  const std::size_t at = find_zip_end(end.bytes);
  const auto directory = at == std::string_view::npos ? std::nullopt : directory_of(end, at);
  if (!directory) {
    refuse_archive(file, "the archive is damaged: its directory is not at its end");
  }
  const std::uint64_t begin = directory->end - directory->bytes;
  if (begin > directory->offset && begin < end.size) {
    const std::uint64_t before = begin - directory->offset;
    refuse_archive(file,
                   format_counted(static_cast<std::int64_t>(before), "byte") +
                       " before the archive are no part of it",
                   "archives that were joined are given one by one");
  }
  if (begin != directory->offset) {
    refuse_archive(file, "the archive is damaged: its directory is not where it says");
  }
  // Who writes no long records counts only so far.
  const std::uint64_t mask = directory->is_long ? ~std::uint64_t{0} : kMostInShortRecord;
  if ((members & mask) != directory->members) {
    refuse_archive(
        file, fmt::format("the archive is damaged: its directory has {}, and {} were found",
                          format_counted(static_cast<std::int64_t>(directory->members), "member"),
                          members));
  }
}

}  // namespace roformer
