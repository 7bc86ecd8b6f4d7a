// What libarchive does not look at: whether an archive is whole at its end, with nothing before or
// after it that would not be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/codec.h"

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

// The bytes of one file, decompressed while they are read, in which libarchive then looks for
// archives. Knows the end of what it gave, and gives a zip that comes as a stream from a copy of
// it.

class ByteSource {
 public:
  // "-" is standard input, of which `begun` was read already. Throws Error (failure) naming the
  // path when it cannot be opened.
  explicit ByteSource(const std::filesystem::path& path, std::string begun = {});
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The next bytes, valid until the next call; empty at the end, and where error() says why.
  std::string_view read();
  const std::string& error() const { return error_; }
  // The way out of that, or "".
  std::string hint() const;

  bool is_compressed() const { return compressed_ != nullptr; }
  // A plain file, or a copy; pipes and compressed files are none.
  bool is_seekable() const { return is_seekable_; }
  // As lseek; of one that is seekable.
  std::int64_t seek(std::int64_t offset, int whence);
  // Whether the first byte, decompressed, is this one.
  bool begins_with(char byte) const { return begins_ && first_ == byte; }
  // Bytes taken from the file as it lies on the disk, again where they were sought again.
  std::uint64_t raw_bytes() const { return raw_bytes_; }

  // Reads what is left. The views live as long as this does; empty where error() says why.
  ArchiveEnd read_to_end();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_seekable_ = false;
  std::unique_ptr<CompressedFile> compressed_;
  bool is_copy_ = false;  // of what was compressed or came through a pipe
  std::string block_;     // what was read last, of a plain file
  std::string begin_;     // what was read to see what the file is
  std::string end_;       // of what was read, where it cannot be sought
  std::uint64_t size_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::string error_;
  bool begins_ = false;
  char first_ = 0;

  bool fill();
  std::string_view read_once();
  void copy();
};

}  // namespace roformer
