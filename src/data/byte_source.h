// The bytes of one file, decompressed while they are read; libarchive then looks for archives in
// them. Also checks that an archive is complete and has no unread bytes before or after it, which
// libarchive does not check. A zip that arrives as a stream is read from a copy. The bytes of a
// Parquet file are JSON Lines (parquet.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/parquet.h"

namespace roformer {

class ByteSource {
 public:
  // "-" is standard input; `begun` holds the bytes that were read from it already. Throws Error
  // (failure) naming the path if it cannot be opened.
  explicit ByteSource(const std::filesystem::path& path, std::string begun = {});
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The next bytes, valid until the next call. Empty at the end, and if error() says why reading
  // failed.
  std::string_view read();
  const std::string& error() const { return error_; }
  // A command that works around the error, or "".
  std::string hint() const;

  bool is_compressed() const { return compressed_ != nullptr; }
  // Whether the file is plain or a copy. Pipes and compressed files are not seekable.
  bool is_seekable() const { return is_seekable_; }
  // Moves as lseek does. Needs a seekable file.
  std::int64_t seek(std::int64_t offset, int whence);
  // Whether the first byte, decompressed, equals this one.
  bool begins_with(char byte) const { return begins_ && first_ == byte; }
  // Bytes read so far from the file on the disk, or the place up to which a Parquet file is read.
  // Bytes that are read again after a seek count again.
  std::uint64_t raw_bytes() const { return raw_bytes_; }

  // Reads the rest of a tar or zip in which `members` were found, folders included. Throws Error
  // (failure) naming the file if the archive is incomplete. Returns false if error() says why it
  // cannot be read.
  bool require_archive_end(const std::string& file, bool is_tar, std::uint64_t members);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_seekable_ = false;
  class CompressedFile;
  std::unique_ptr<CompressedFile> compressed_;
  std::unique_ptr<ParquetRows> parquet_;
  bool is_copy_ = false;  // of what was compressed or came through a pipe
  std::string block_;     // the last block read from a plain file
  std::string begin_;     // the first bytes, read to detect the format
  std::string end_;       // the last bytes read, if the file is not seekable
  std::uint64_t size_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::string error_;
  bool begins_ = false;
  char first_ = 0;

  bool fill();
  std::string_view read_once();
  void read_to_end();
  void copy();
  void read_as_parquet();
};

}  // namespace roformer
