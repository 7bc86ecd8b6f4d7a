// Messages to the person at the terminal, through spdlog: information and warnings go to standard
// error, so that standard output holds results only. A run adds its own log file.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "base/inner_path.h"

namespace roformer::log {

// Sets the pattern and the terminal sink; called once at the start of main.
void initialize();

// While it lives, messages also go to this file (appended).
class FileSink {
 public:
  explicit FileSink(const InnerPath& path);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  // Writes a line to the file only; the caller tells the terminal.
  void error(const std::string& message) const;

 private:
  spdlog::sink_ptr sink_;
};

using spdlog::info;
using spdlog::warn;

}  // namespace roformer::log
