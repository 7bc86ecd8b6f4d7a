// The bytes of TensorBoard's event files: protobuf messages inside checked records. Apart from the
// writer, so that the bytes can be compared with those that TensorBoard itself writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

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
