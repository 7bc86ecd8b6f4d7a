#include "report/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "report/event_record.h"

namespace roformer {
namespace fs = std::filesystem;
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
  std::sort(paths.begin(), paths.end());
  return paths;
}

constexpr std::string_view kBefore = "events.out.tfevents.";
constexpr std::string_view kBehind = ".roformer";

// The second in the name of a file that this program wrote, else -1.
std::int64_t second_of(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::int64_t kMost = 9'999'999'999;  // as many digits as the names have
  if (name.size() <= kBefore.size() + kBehind.size() || !name.starts_with(kBefore) ||
      !name.ends_with(kBehind)) {
    return -1;
  }
  std::int64_t second = -1;
  const char* const end = name.data() + name.size() - kBehind.size();
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
  return directory / fmt::format("{}{:010}{}", kBefore, second, kBehind);
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
    // TensorBoard forgets what is not before the step of a session's start.
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
