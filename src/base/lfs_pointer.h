// Git LFS keeps large files elsewhere: a clone made without it holds a few lines in their place.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace roformer {

inline bool is_lfs_pointer(std::string_view contents) {
  return contents.starts_with("version https://git-lfs.github.com/spec/");
}

[[noreturn]] inline void throw_lfs_pointer(const std::string& file) {
  throw_failure(file, "is a pointer of Git LFS, three lines in the place of the file itself",
                "run `git lfs pull` in its folder");
}

}  // namespace roformer
