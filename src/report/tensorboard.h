// TensorBoard event files: scalars and texts that `tensorboard --logdir` shows, as protobuf
// messages (tensorboard/compat/proto: event.proto, summary.proto) in records of TensorFlow's
// TFRecord format. They are encoded by hand: two small messages are not worth protobuf and
// TensorFlow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

// The bytes of such files, apart from the writer so that they can be compared with those that
// TensorBoard itself writes.

// CRC-32C (Castagnoli), rotated and shifted as TFRecord files do.
std::uint32_t masked_crc32c(std::string_view bytes);

// Length, checksum, data, checksum.
std::string record_of(std::string_view data);

struct EventTime {
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
};

// Serialised Event messages.
std::string version_event(const EventTime& time);
std::string session_start_event(const EventTime& time);
std::string scalar_event(const EventTime& time, std::string_view tag, float value);
std::string text_event(const EventTime& time, std::string_view tag, std::string_view markdown);

// Takes the first record off `bytes` and returns its data; nothing when too few bytes are left for
// a whole one. Throws Error (failure, without a location) where a checksum does not match.
std::optional<std::string_view> take_record(std::string_view& bytes);

// The step of a serialised Event; 0 where it says none. Throws Error (failure, without a location)
// for bytes that are not a protobuf message.
std::int64_t event_step(std::string_view event);

}  // namespace roformer
