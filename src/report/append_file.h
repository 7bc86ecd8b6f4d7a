// A file that only grows, with the system's reason in every error. flush() hands the appended text
// to the kernel, so that a killed process loses at most the text after the last flush.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/inner_path.h"

namespace roformer {

class AppendFile {
 public:
  // Opens or creates the file. Appended text is flushed once `flush_interval` has passed since the
  // last flush; zero flushes every time. Throws Error (failure), also for a link (InnerPath).
  explicit AppendFile(InnerPath path,
                      std::chrono::milliseconds flush_interval = std::chrono::milliseconds(0));
  ~AppendFile();  // flushes, silently
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view bytes);
  void flush();
  // Flushes, and waits until the disk has it, so that a power cut loses nothing.
  void sync();
  const std::filesystem::path& path() const { return path_.path(); }

 private:
  InnerPath path_;
  std::chrono::milliseconds flush_interval_;
  std::chrono::steady_clock::time_point last_flush_;
  std::string buffer_;
  Descriptor descriptor_;
  bool is_listed_ = false;  // its folder is synced, too
};

}  // namespace roformer
