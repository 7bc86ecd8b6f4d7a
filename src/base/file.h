// Files that lose nothing: whole reads with clear errors, writes that leave either the old or the
// new file, and read-only memory maps.
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

// The file exists but the system cannot read it (a broken disk, missing rights). The file itself
// need not be damaged.
class ReadError : public Error {
 public:
  ReadError(const std::filesystem::path& path, int error_number);
};

// The largest file of each kind that is read into memory. A stranger's file may claim any size,
// because a sparse file takes no disk space.
inline constexpr std::uint64_t kLargestDescription = 64 << 20;  // JSON, YAML
inline constexpr std::uint64_t kLargestVocabulary = 256 << 20;
inline constexpr std::uint64_t kLargestFile = 1 << 30;  // any other file

// Reads a whole regular file. Refuses a named pipe rather than waiting for it. Throws ReadError, or
// Error (failure) if the file is missing or larger than `largest`.
std::string read_file(const std::filesystem::path& path, std::uint64_t largest = kLargestFile);
// Does the same for a file that this program named, and also refuses a link (InnerPath).
std::string read_plain_file(const InnerPath& path, std::uint64_t largest = kLargestFile);
// Reads a file of any size that the user named on the command line; it may be a pipe.
std::string read_input(const std::filesystem::path& path);

// Whether a file or folder exists; false if the system cannot tell.
bool is_present(const std::filesystem::path& path);

// Makes the directory and its parents. Throws Error (failure), which names the path.
void make_directories(const std::filesystem::path& path);
// "b" for a/b, for a/b/ and, in the directory a/b, for ".".
std::string folder_name(const std::filesystem::path& folder);

// Writes a directory's entries to the disk, so that a rename in it survives a power cut.
void sync_directory(const std::filesystem::path& path);

// Writes PATH.partial; commit() syncs it and renames it to PATH, keeping PATH's permissions.
// Without commit() nothing remains. If this program chose the name (InnerPath), the class refuses a
// link or anything else but a regular file. If the user named the file (InnerPath::named), a link
// stays and its target is replaced, and a device or a pipe is written directly. Throws Error
// (failure) at the first system call that fails, for instance on a full disk. While another process
// writes the same file, this one waits for up to ten seconds.
class AtomicFile {
 public:
  explicit AtomicFile(InnerPath path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Overwrites earlier bytes, for a header whose counts are known only at the end.
  void write_at(std::size_t offset, const void* data, std::size_t bytes);
  std::size_t size() const { return size_; }
  void commit();

 private:
  InnerPath path_;
  Descriptor folder_;              // none for a device or a pipe
  std::filesystem::path partial_;  // its name in the folder
  std::optional<unsigned> mode_;   // of the replaced file
  std::string buffer_;             // gathers small writes
  std::size_t size_ = 0;
  Descriptor descriptor_;

  void flush();
};

// Call this before the work whose result goes to the file. Makes the file's folder. Throws Error
// (failure) if the path is a folder or cannot be written, and Error (usage) if it is one of
// `inputs`, the files that the same command reads.
void require_output(const std::filesystem::path& path,
                    const std::vector<std::filesystem::path>& inputs = {});

// After this call, a mapped file that is cut short or cannot be read ends the program with a
// message. The message names no file, because the system gives only an address.
void explain_bus_errors();

void write_file_atomically(const InnerPath& path, std::string_view contents);

// A file that is mapped read-only while the object lives.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Gives the memory of the whole pages from byte begin to end back to the system.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Git LFS keeps large files elsewhere. A clone made without it has a few lines in place of each.

inline bool is_lfs_pointer(std::string_view contents) {
  return contents.starts_with("version https://git-lfs.github.com/spec/");
}

[[noreturn]] inline void throw_lfs_pointer(const std::string& file) {
  throw_failure(file, "is a Git LFS pointer, not the file itself",
                "run `git lfs pull` in its folder");
}

}  // namespace roformer
