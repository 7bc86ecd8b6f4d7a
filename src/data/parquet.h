// Parquet files as JSON Lines. Python's package pyarrow reads them, in a child process that writes
// a JSON object for each row into a pipe; the readers of JSON Lines do the rest.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace roformer {

inline constexpr std::string_view kParquetBegin = "PAR1";  // the first bytes of such a file

class ParquetRows {
 public:
  // `file`: an open file that can seek. It becomes the standard input of the child, so that no path
  // is passed on. It stays open.
  explicit ParquetRows(int file);
  ~ParquetRows();  // ends the child
  ParquetRows(const ParquetRows&) = delete;
  ParquetRows& operator=(const ParquetRows&) = delete;

  // The end of the pipe that gives JSON Lines. Closed at once if python3 did not start.
  int pipe() const { return pipe_; }
  // Call this when the pipe has ended. Returns "" or why rows are missing.
  std::string problem();
  // How the user can mend it, or "".
  const std::string& hint() const { return hint_; }

 private:
  int pipe_ = -1;
  int errors_ = -1;  // what the child says
  pid_t process_ = -1;
  int start_error_ = 0;
  std::string hint_;
};

}  // namespace roformer
