// A path that this program writes to: a part that the user named, followed by names that this
// program chose. Links in the user's part are followed. A link in the program's part would lead the
// write to a place that nobody named: a stranger's run may contain config.yaml -> ~/.profile. The
// program therefore opens each of its names from the descriptor of its folder, and refuses a name
// that is not a plain file or folder.
#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace roformer {

// An open file or folder, which the destructor closes; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

class InnerPath {
 public:
  InnerPath() = default;
  // Converts a plain path: the last name is the program's, the folder before it is the user's.
  template <typename Path>
  requires(!std::same_as<Path, InnerPath> &&
           std::constructible_from<std::filesystem::path, const Path&>)
      InnerPath(const Path& path)  // NOLINT: implicit, like a path
      : InnerPath(split(std::filesystem::path(path))) {}
  // All names are the user's: a folder in which we choose names, or a file that may be a link.
  static InnerPath named(std::filesystem::path path);

  // Appends one or several of our names in this folder.
  InnerPath operator/(const std::filesystem::path& inner) const;

  bool is_named() const { return inner_.empty(); }
  // Only for reading and for messages.
  const std::filesystem::path& path() const { return path_; }
  operator const std::filesystem::path&() const { return path_; }  // NOLINT
  std::string string() const { return path_.string(); }

  // All functions below throw Error (failure) if one of our names is a link (the message names its
  // target) or neither a file nor a folder.

  // Opens a file like open(2). If the system refuses, returns no descriptor and sets errno.
  Descriptor open(int flags, unsigned mode = 0644) const;
  // Opens the folder of the last name; use it with name().
  Descriptor open_folder() const;
  std::filesystem::path name() const { return path_.filename(); }
  // Throws unless the name is missing or plain.
  void require_plain() const;
  // Checks everything in this folder in the same way.
  void require_plain_tree() const;
  // Makes those of our folders that are missing. Also throws if the system refuses.
  void make_folder() const;
  std::error_code rename_to(const InnerPath& other) const;
  void move_to(const InnerPath& other) const;  // like rename_to; throws if the system refuses
  // Removes the file, or the folder with its contents; does nothing if it is missing.
  std::error_code remove_all() const;

 private:
  std::filesystem::path named_;
  std::filesystem::path inner_;
  std::filesystem::path path_;

  InnerPath(std::filesystem::path named, std::filesystem::path inner);
  static InnerPath split(const std::filesystem::path& path);
  Descriptor open_folders(bool make) const;
};

}  // namespace roformer
