#include "data/line_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "text/utf8.h"

namespace roformer {

LineReader::LineReader(const std::filesystem::path& path, std::size_t longest)
    : source_(path), longest_(longest) {}

// The next bytes of the current file; false at its end.
bool LineReader::fill() {
  if (block_.empty()) block_ = source_.read();
  return !block_.empty();
}

bool LineReader::next(std::string_view& line) {
  while (!in_file_ || !fill()) {
    in_file_ = source_.next_file();
    if (!in_file_) return false;
    at_start_ = true;
  }
  line_.clear();
  cut_ = false;
  for (bool ended = false; !ended && fill();) {
    const std::size_t end = block_.find('\n');
    ended = end != std::string_view::npos;
    const std::string_view part = block_.substr(0, end);
    const std::size_t room = longest_ - std::min(line_.size(), longest_);
    cut_ |= part.size() > room;
    line_ += part.substr(0, room);
    block_.remove_prefix(ended ? end + 1 : block_.size());
  }
  ++number_;
  line = line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (at_start_ && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  files_ += at_start_ ? 1 : 0;
  at_start_ = false;
  return true;
}

bool LineReader::next_text(std::string_view& line) {
  if (!next(line)) return false;
  line = repair_utf8(line, repaired_, replaced_);
  return true;
}

void LineReader::require_whole() const {
  if (!cut_) return;
  throw_failure(location(), fmt::format("is longer than {} bytes", longest_),
                "no sentence is: look for line ends that were lost");
}

std::string LineReader::location(std::int64_t ahead) const {
  return fmt::format("{}:{}", name(), number_ + ahead);
}

void LineReader::warn_of_replaced() const {
  if (replaced() == 0) return;
  log::warn("{}: {} became U+FFFD", name(),
            format_counted(static_cast<std::int64_t>(replaced()), "malformed UTF-8 sequence"));
}

}  // namespace roformer
