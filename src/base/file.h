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

// A file exists but the system does not let us read it (a broken disk, missing rights). This does
// not mean that the file is damaged.
class ReadError : public Error {
 public:
  ReadError(const std::filesystem::path& path, int error_number);
};

// The largest file of each kind that is read into memory. A stranger's file may claim any size,
// since a sparse file takes no disk.
inline constexpr std::uint64_t kLargestDescription = 64 << 20;  // JSON, YAML
inline constexpr std::uint64_t kLargestVocabulary = 256 << 20;
inline constexpr std::uint64_t kLargestFile = 1 << 30;  // any other

// The whole file, which must be a regular one: a named pipe is refused rather than waited for.
// Throws ReadError, or Error (failure) where there is no such file or it is larger than `largest`.
std::string read_file(const std::filesystem::path& path, std::uint64_t largest = kLargestFile);
// The same for a file that this program named: a link is refused (InnerPath).
std::string read_plain_file(const InnerPath& path, std::uint64_t largest = kLargestFile);
// A file that the user names on the command line, of any size; it may be a pipe.
std::string read_input(const std::filesystem::path& path);

// Whether a file or folder exists; false where the system does not tell.
bool is_present(const std::filesystem::path& path);

// Makes the directory and its parents; throws Error (failure) naming the path.
void make_directories(const std::filesystem::path& path);
// "b" for a/b, for a/b/ and, in the directory a/b, for ".".
std::string folder_name(const std::filesystem::path& folder);

// Flushes a directory's entries to the disk, so that a rename in it survives a power cut.
void sync_directory(const std::filesystem::path& path);

// Writes PATH.partial; commit() syncs it and renames it to PATH, keeping PATH's permissions.
// Without commit() nothing stays. If this program chose the name, a link or anything but a regular
// file is refused (InnerPath). If the user named the file (InnerPath::named), a link stays and its
// target is replaced, and a device or a pipe is written to directly. Throws Error (failure) on the
// first system call that fails, for instance on a full disk. While another process writes the same
// file, this one waits for up to ten seconds.
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
  Descriptor folder_;              // none for a device or a pipe
  std::filesystem::path partial_;  // in the folder
  std::optional<unsigned> mode_;   // of the file that is replaced
  std::string buffer_;             // gathers small writes
  std::size_t size_ = 0;
  Descriptor descriptor_;

  void flush();
};

// Called before the work whose result goes to this file: makes the file's folder. Throws Error
// (failure) where the path is a folder or cannot be written, and Error (usage) where it is one of
// `inputs`, the files that the same command reads.
void require_output(const std::filesystem::path& path,
                    const std::vector<std::filesystem::path>& inputs = {});

// From here on, a mapped file that is cut short or cannot be read ends the program with a message.
// The message names no file: the system tells only an address.
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

// Git LFS keeps large files elsewhere: a clone made without it holds a few lines in their place.

inline bool is_lfs_pointer(std::string_view contents) {
  return contents.starts_with("version https://git-lfs.github.com/spec/");
}

[[noreturn]] inline void throw_lfs_pointer(const std::string& file) {
  throw_failure(file, "is a pointer of Git LFS, three lines in the place of the file itself",
                "run `git lfs pull` in its folder");
}

}  // namespace roformer
