// TensorBoard event files: scalars and texts that `tensorboard --logdir` shows. The two protobuf
// messages that this needs are encoded by hand (tensorboard/compat/proto: event.proto,
// summary.proto), in records of TensorFlow's TFRecord format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "report/append_file.h"

namespace roformer {

struct TensorBoardOptions {
  // Continuing a run: every event after this step is removed from the directory's files first, and
  // the new file begins with a session start, by which a TensorBoard that is watching forgets them.
  std::optional<std::int64_t> resume_after_step;
  std::chrono::milliseconds flush_interval = std::chrono::seconds(5);
};

class TensorBoardWriter {
 public:
  // Begins a new event file in the directory, which is made if need be. Throws Error (failure), for
  // a damaged event file (resuming) too.
  explicit TensorBoardWriter(const InnerPath& directory, const TensorBoardOptions& options = {});

  void scalar(std::string_view tag, double value, std::int64_t step);
  void text(std::string_view tag, std::string_view markdown, std::int64_t step);
  void flush() { file_->flush(); }
  void sync() { file_->sync(); }

 private:
  std::unique_ptr<AppendFile> file_;
};

// Removes all events after `step`, and a half-written last record, from every event file of the
// directory; each file is replaced atomically. Throws Error (failure) for a damaged record.
void truncate_events_after(const InnerPath& directory, std::int64_t step);

}  // namespace roformer
