#include "report/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace roformer {
namespace fs = std::filesystem;
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

namespace {

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::vector<fs::path> event_files(const fs::path& directory) {
  std::vector<fs::path> paths;
  if (!fs::is_directory(directory)) return paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const bool is_event_file =
        entry.path().filename().string().find("tfevents") != std::string::npos;
    if (is_event_file && entry.path().extension() != ".partial") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

constexpr std::string_view kBefore = "events.out.tfevents.";
constexpr std::string_view kAfter = ".roformer";

// The second in the name of a file that this program wrote, else -1.
std::int64_t second_of(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::int64_t kMost = 9'999'999'999;  // as many digits as the names have
  if (name.size() <= kBefore.size() + kAfter.size() || !name.starts_with(kBefore) ||
      !name.ends_with(kAfter)) {
    return -1;
  }
  std::int64_t second = -1;
  const char* const end = name.data() + name.size() - kAfter.size();
  const auto parsed = std::from_chars(name.data() + kBefore.size(), end, second);
  return parsed.ec == std::errc() && parsed.ptr == end && second < kMost ? second : -1;
}

// TensorBoard reads a directory's files in the order of their names, so a new one must come last
// of ours even if the clock has gone back.
InnerPath new_event_file(const InnerPath& directory) {
  auto second = static_cast<std::int64_t>(seconds_since_1970());
  for (const fs::path& path : event_files(directory)) {
    second = std::max(second, second_of(path) + 1);
  }
  return directory / fmt::format("{}{:010}{}", kBefore, second, kAfter);
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const InnerPath& directory,
                                     const TensorBoardOptions& options) {
  directory.make_folder();
  if (options.resume_after_step) truncate_events_after(directory, *options.resume_after_step);
  file_ = std::make_unique<AppendFile>(new_event_file(directory), options.flush_interval);
  const double now = seconds_since_1970();
  file_->append(record_of(version_event({.wall_time = now})));
  if (options.resume_after_step) {
    // TensorBoard forgets all events from the step of a session's start on.
    const EventTime start{.wall_time = now, .step = *options.resume_after_step + 1};
    file_->append(record_of(session_start_event(start)));
  }
  file_->flush();
}

void TensorBoardWriter::scalar(std::string_view tag, double value, std::int64_t step) {
  const EventTime time{.wall_time = seconds_since_1970(), .step = step};
  file_->append(record_of(scalar_event(time, tag, static_cast<float>(value))));
}

void TensorBoardWriter::text(std::string_view tag, std::string_view markdown, std::int64_t step) {
  const EventTime time{.wall_time = seconds_since_1970(), .step = step};
  file_->append(record_of(text_event(time, tag, markdown)));
}

void truncate_events_after(const InnerPath& directory, std::int64_t step) {
  for (const fs::path& path : event_files(directory)) {
    const MappedFile file(path);
    const std::string_view contents(reinterpret_cast<const char*>(file.bytes().data()),
                                    file.bytes().size());
    std::string kept;
    std::string_view rest = contents;
    try {
      for (std::string_view before = rest; const auto event = take_record(rest); before = rest) {
        if (event_step(*event) <= step) kept += before.substr(0, before.size() - rest.size());
      }
    } catch (const Error& error) {
      throw_failure(path.string(), error.parts().message,
                    "remove the file to go on without its curves; metrics.jsonl has the figures");
    }
    if (kept.size() != contents.size()) write_file_atomically(directory / path.filename(), kept);
  }
}

}  // namespace roformer
