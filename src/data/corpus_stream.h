// The bytes of one corpus file, decompressed while they are read: plain, gzip, bzip2, xz or
// Zstandard, and the files inside a tar or zip archive one after the other. Nothing is held in
// memory but one block, so the file may be larger than memory or be a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace roformer {

// The first bytes of a file show that it is no text.
class NotText : public Error {
 public:
  using Error::Error;
};

// Throws NotText where the bytes hold a NUL or, at a file's begin, are UTF-16 with its mark.
void refuse_binary(const std::string& name, std::string_view bytes, std::size_t offset = 0);

// The name without the ending of a compression (.gz, .bz2, .xz, .zst).
std::filesystem::path without_compression(const std::filesystem::path& name);

class CorpusStream {
 public:
  // Whether what is no UTF-8 text is refused, or handed on to a caller that looks at it itself.
  enum class Contents { text, bytes };

  // "-" is standard input, of which `begun` was read already. Throws Error (failure) naming the
  // path when it cannot be read.
  explicit CorpusStream(const std::filesystem::path& path, Contents contents = Contents::text,
                        std::string begun = {});
  ~CorpusStream();

  // Goes to the next file inside: once for a plain or compressed file, for each regular file of an
  // archive. False at the end.
  bool next_file();
  // The path, or "ARCHIVE:PATH INSIDE".
  const std::string& name() const { return name_; }
  // The path inside an archive, or "".
  const std::string& inside() const { return inside_; }
  // The next bytes of the current file, at most about 256 KiB, valid until the next call; empty at
  // its end. Throws Error on a truncated or damaged compressed file, and NotText before the first
  // bytes are returned.
  std::string_view read();
  // Bytes taken so far from the file as it lies on the disk, for progress.
  std::uint64_t raw_bytes() const;

 private:
  struct Handle;

  std::string path_;
  std::string name_;
  std::string inside_;
  std::unique_ptr<Handle> handle_;
  bool at_start_ = false;  // of the current file
  Contents contents_;

  [[noreturn]] void fail() const;
};

}  // namespace roformer
