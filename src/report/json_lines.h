// JSON Lines: one object a line, as in a run's metrics.jsonl. A process that was killed may leave
// half a line at the end; every reader here passes over that, and anything else that is not a JSON
// object is an error with its line number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/append_file.h"

namespace roformer {

class JsonLinesWriter {
 public:
  // Appends to the file or creates it; see AppendFile for the interval. A half-written last line
  // is removed first. Throws Error (failure).
  explicit JsonLinesWriter(const InnerPath& path,
                           std::chrono::milliseconds flush_interval = std::chrono::milliseconds(0));

  // NaN and the infinities become null; invalid UTF-8 is replaced.
  void append(const nlohmann::ordered_json& object);
  void flush() { file_.flush(); }
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

// All objects of the file. Throws Error (failure) for a missing file or a line that is no object.
std::vector<nlohmann::json> read_json_lines(const std::filesystem::path& path);
// The objects in its last 64 KiB, for callers that often look at a growing file.
std::vector<nlohmann::json> read_last_json_lines(const std::filesystem::path& path);

// Cuts the file back to what was known at `step`: removes every line whose "step" is greater, and a
// half-written last line. Lines without a "step" stay. The file is replaced atomically; a missing
// one is left missing. Throws Error (failure), with nothing changed, as read_json_lines does.
void truncate_after(const InnerPath& path, std::int64_t step);

}  // namespace roformer
