#include "report/event_record.h"

#include <array>
#include <bit>
#include <concepts>
#include <cstring>

#include "base/error.h"

namespace roformer {
namespace {

enum class WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Field numbers of event.proto, summary.proto, tensor.proto.
constexpr int kEventWallTime = 1;
constexpr int kEventStep = 2;
constexpr int kEventFileVersion = 3;
constexpr int kEventSummary = 5;
constexpr int kEventSessionLog = 7;
constexpr int kSessionLogStatus = 1;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1;
constexpr int kValueSimple = 2;
constexpr int kValueTensor = 8;
constexpr int kValueMetadata = 9;
constexpr int kMetadataPlugin = 1;
constexpr int kPluginName = 1;
constexpr int kTensorType = 1;
constexpr int kTensorShape = 2;
constexpr int kTensorStrings = 8;
constexpr int kShapeDimension = 2;
constexpr int kDimensionSize = 1;
constexpr std::uint64_t kTypeString = 7;
constexpr std::uint64_t kSessionStart = 1;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

template <typename Value>
std::string little_endian(Value value) {
  static_assert(std::endian::native == std::endian::little);
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename Value>
Value read_little_endian(std::string_view bytes) {
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string key(int field, WireType type) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}

std::string integer_field(int field, std::uint64_t value) {
  return key(field, WireType::varint) + varint(value);
}

std::string bytes_field(int field, std::string_view value) {
  return key(field, WireType::bytes) + varint(value.size()) + std::string(value);
}

std::string event_head(const EventTime& time) {
  std::string event = key(kEventWallTime, WireType::fixed64) + little_endian(time.wall_time);
  // Protobuf leaves out a field that has its default.
  if (time.step != 0) event += integer_field(kEventStep, static_cast<std::uint64_t>(time.step));
  return event;
}

std::string summary_event(const EventTime& time, const std::string& value) {
  return event_head(time) + bytes_field(kEventSummary, bytes_field(kSummaryValue, value));
}

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = remainder >> 1 ^ (remainder & 1 ? 0x82f63b78u : 0u);
    }
    table[i] = remainder;
  }
  return table;
}

[[noreturn]] void throw_damaged(const char* what) {
  throw_failure("", std::string("the event file is damaged: ") + what);
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) break;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw_damaged("an event that is no protobuf message");
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_crc_table();
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

std::string record_of(std::string_view data) {
  const std::string length = little_endian(std::uint64_t{data.size()});
  return length + little_endian(masked_crc32c(length)) + std::string(data) +
         little_endian(masked_crc32c(data));
}

std::string version_event(const EventTime& time) {
  return event_head(time) + bytes_field(kEventFileVersion, "brain.Event:2");
}

std::string session_start_event(const EventTime& time) {
  return event_head(time) +
         bytes_field(kEventSessionLog, integer_field(kSessionLogStatus, kSessionStart));
}

std::string scalar_event(const EventTime& time, std::string_view tag, float value) {
  return summary_event(time, bytes_field(kValueTag, tag) + key(kValueSimple, WireType::fixed32) +
                                 little_endian(value));
}

std::string text_event(const EventTime& time, std::string_view tag, std::string_view markdown) {
  const std::string shape = bytes_field(kShapeDimension, integer_field(kDimensionSize, 1));
  const std::string tensor = integer_field(kTensorType, kTypeString) +
                             bytes_field(kTensorShape, shape) +
                             bytes_field(kTensorStrings, markdown);
  const std::string metadata = bytes_field(kMetadataPlugin, bytes_field(kPluginName, "text"));
  return summary_event(time, bytes_field(kValueTag, tag) + bytes_field(kValueTensor, tensor) +
                                 bytes_field(kValueMetadata, metadata));
}

std::optional<std::string_view> take_record(std::string_view& bytes) {
  constexpr std::size_t kHeader = 12;
  constexpr std::size_t kTrailer = 4;
  if (bytes.size() < kHeader) return std::nullopt;
  if (masked_crc32c(bytes.substr(0, 8)) != read_little_endian<std::uint32_t>(bytes.substr(8))) {
    throw_damaged("a record's length does not match its checksum");
  }
  const auto length = read_little_endian<std::uint64_t>(bytes);
  if (length > bytes.size() - kHeader || bytes.size() - kHeader - length < kTrailer) {
    return std::nullopt;
  }
  const std::string_view data = bytes.substr(kHeader, length);
  if (masked_crc32c(data) != read_little_endian<std::uint32_t>(bytes.substr(kHeader + length))) {
    throw_damaged("a record does not match its checksum");
  }
  bytes.remove_prefix(kHeader + length + kTrailer);
  return data;
}

std::int64_t event_step(std::string_view event) {
  std::int64_t step = 0;
  while (!event.empty()) {
    const std::uint64_t field_key = take_varint(event);
    std::uint64_t skipped = 0;
    switch (static_cast<WireType>(field_key & 7)) {
      case WireType::varint: {
        const std::uint64_t value = take_varint(event);
        if (field_key >> 3 == kEventStep) step = static_cast<std::int64_t>(value);
        break;
      }
      case WireType::fixed64:
        skipped = 8;
        break;
      case WireType::bytes:
        skipped = take_varint(event);
        break;
      case WireType::fixed32:
        skipped = 4;
        break;
      default:
        throw_damaged("an event that is no protobuf message");
    }
    if (skipped > event.size()) throw_damaged("an event that ends too early");
    event.remove_prefix(skipped);
  }
  return step;
}

}  // namespace roformer
