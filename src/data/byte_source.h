// The bytes of one file, decompressed while they are read, in which libarchive then looks for
// archives. Checks what libarchive does not: whether an archive is complete at its end, with
// nothing before or after it that would not be read. A zip that comes as a stream is read from a
// copy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace roformer {

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

  // Reads the rest of a tar or zip of which `members` were met, folders among them. Throws Error
  // (failure) naming the file where the archive is not complete; false where error() says why it
  // cannot be read.
  bool require_archive_end(const std::string& file, bool is_tar, std::uint64_t members);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_seekable_ = false;
  class CompressedFile;
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
  void read_to_end();
  void copy();
};

}  // namespace roformer
