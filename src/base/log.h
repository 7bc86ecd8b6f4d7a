// Messages to the person at the terminal, through spdlog. Information and warnings go to standard
// error, so that standard output holds only results. A run adds its own log file.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "base/inner_path.h"

namespace roformer::log {

// Sets the pattern and the terminal sink. main calls this once, at its start.
void initialize();

// While this object lives, messages are also appended to the file.
class FileSink {
 public:
  explicit FileSink(const InnerPath& path);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  // Writes a line only to the file; the caller reports it on the terminal.
  void error(const std::string& message) const;

 private:
  spdlog::sink_ptr sink_;
};

using spdlog::info;
using spdlog::warn;

}  // namespace roformer::log
