// The bytes of one corpus file, decompressed while they are read: plain, gzip, bzip2, xz or
// Zstandard, and the files inside a tar or zip archive in order. Memory holds only one block, so
// the file may be larger than memory or be a pipe. Damaged, cut or unread bytes are an error, so no
// text is lost silently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace roformer {

// The first bytes of a file show that it is no text.
class NotText : public Error {
 public:
  using Error::Error;
};

// Throws NotText if the bytes contain a NUL or, at the beginning of a file, are UTF-16 with a byte
// order mark.
void refuse_binary(const std::string& name, std::string_view bytes, std::size_t offset = 0);

// The name without a compression ending (.gz, .bz2, .xz, .zst, in any case).
std::filesystem::path without_compression(const std::filesystem::path& name);
// The ending that tells a file's format, in small letters: ".tsv" for a.TSV and for a.tsv.GZ. All
// code that chooses a reader by name uses it.
std::string ending_of(const std::filesystem::path& name);

class CorpusStream {
 public:
  // "-" is standard input; `begun` holds the bytes that were read from it already. Throws Error
  // (failure) naming the path if it cannot be read.
  explicit CorpusStream(const std::filesystem::path& path, std::string begun = {});
  ~CorpusStream();

  // Goes to the next file inside: once for a plain or compressed file, once per regular file of an
  // archive. Returns false at the end.
  bool next_file();
  // The path, or "ARCHIVE:PATH INSIDE".
  const std::string& name() const { return name_; }
  // The path inside an archive, or "".
  const std::string& inside() const { return inside_; }
  // The next bytes of the current file, at most about 256 KiB, valid until the next call; empty at
  // its end. Throws Error on a truncated or damaged file, and NotText before the first bytes are
  // returned.
  std::string_view read();
  // The same for a file that is not UTF-8 text, or may not be.
  std::string_view read_bytes();
  // The number of archive members so far that are no files (links, devices) and were left out.
  std::uint64_t left_out() const { return left_out_; }
  // The hard links of an archive so far. They have no contents: the text is in the target.
  struct HardLink {
    std::string name, target;
  };
  const std::vector<HardLink>& hard_links() const { return hard_links_; }
  // Bytes read so far from the file on the disk, for progress.
  std::uint64_t raw_bytes() const;

 private:
  struct Handle;

  std::string path_;
  std::string name_;
  std::string inside_;
  std::unique_ptr<Handle> handle_;
  bool at_start_ = false;    // of the current file
  bool only_zeros_ = false;  // so far, of a file that is no archive
  std::uint64_t members_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<HardLink> hard_links_;

  void require(int status) const;
  void require_end() const;
  void refuse_wrong_name(std::string_view start) const;
  [[noreturn]] void fail(const std::string& reason) const;
};

}  // namespace roformer
