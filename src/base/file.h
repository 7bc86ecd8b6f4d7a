// Files that lose nothing: whole reads with clear errors, writes that are either the old file or
// the new one, and read-only memory maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/inner_path.h"

namespace roformer {

// A file that is there, and that the system does not let us read (a broken disk, missing rights).
// What it holds is not known: no sign of damage.
class ReadError : public Error {
 public:
  ReadError(const std::filesystem::path& path, int error_number);
};

// The most bytes that are read into memory of a file of each kind. A file of a stranger's may claim
// any size (a sparse one takes no disk).
inline constexpr std::uint64_t kLargestDescription = 64 << 20;  // JSON, YAML
inline constexpr std::uint64_t kLargestVocabulary = 256 << 20;
inline constexpr std::uint64_t kLargestFile = 1 << 30;  // any other

// The whole file. A named pipe is refused, not waited for: what lies in a folder is a regular file.
// Throws ReadError, or Error (failure) where there is no such file or it is larger than `largest`.
std::string read_file(const std::filesystem::path& path, std::uint64_t largest = kLargestFile);
// The same of a name of ours: a link is refused (InnerPath).
std::string read_plain_file(const InnerPath& path, std::uint64_t largest = kLargestFile);
// A text that the user names on the command line: of any size, and a pipe where the user says so.
std::string read_input(const std::filesystem::path& path);

// Makes the directory and its parents; throws Error (failure) naming the path.
void make_directories(const std::filesystem::path& path);
// "b" of a/b, of a/b/ and, in a/b, of ".".
std::string folder_name(const std::filesystem::path& folder);

// Flushes a directory's entries to the disk, so that a rename in it survives a power cut.
void sync_directory(const std::filesystem::path& path);

// Writes PATH.partial, and with commit() syncs it and renames it to PATH, whose rights stay as they
// were. Without commit() nothing is left behind. A name of ours that is a link or no regular file
// is refused (InnerPath). Where the user named the file (InnerPath::named), a link stays one and
// its target is replaced, and what is no regular file (a device, a pipe) is written to as it is.
// Throws Error (failure) on the first system call that fails (a full disk, say). While another
// process writes the same file, this one waits, ten seconds at most.
class AtomicFile {
 public:
  explicit AtomicFile(InnerPath path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Overwrites bytes written before, for a header whose counts are known at the end.
  void write_at(std::size_t offset, const void* data, std::size_t bytes);
  std::size_t size() const { return size_; }
  void commit();

 private:
  InnerPath path_;
  Descriptor folder_;              // none where there is nothing to replace
  std::filesystem::path partial_;  // in the folder
  std::optional<unsigned> mode_;   // of the file that is replaced
  std::string buffer_;             // small writes are gathered before the system call
  std::size_t size_ = 0;
  Descriptor descriptor_;

  void flush();
};

// For a file that a command is told to write, before it works: makes the folder that it is to be
// in. Throws Error (failure) for a folder in the file's place and where nothing can be written.
// `inputs` are files that the same command reads: Error (usage) where the output is one of them.
void require_output(const std::filesystem::path& path,
                    const std::vector<std::filesystem::path>& inputs = {});

// From here on a mapped file that is cut short, or cannot be read, ends the program with a line
// that says so. Its address is all that the system tells of it.
void explain_bus_errors();

void write_file_atomically(const InnerPath& path, std::string_view contents);

// A file mapped read-only for as long as the object lives.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace roformer
