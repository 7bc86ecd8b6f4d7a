#include "data/line_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/codec.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::size_t kInputBytes = 1 << 16;
// The number of bytes in which to look for a NUL: the length of a file's first block.
constexpr std::size_t kInspected = 1 << 18;

constexpr std::string_view kLittleEndian = "\xff\xfe";
constexpr std::string_view kBigEndian = "\xfe\xff";

// Whether more bytes are needed to decide how to read standard input.
bool is_undecided(std::string_view begin) {
  const auto may_become = [&](std::string_view whole) {
    return begin.size() < whole.size() && whole.starts_with(begin);
  };
  return may_become(kLittleEndian) || may_become(kBigEndian) ||
         std::ranges::any_of(kPackedBegins, may_become);
}

bool is_packed(std::string_view begin) {
  return std::ranges::any_of(kPackedBegins,
                             [&](std::string_view packed) { return begin.starts_with(packed); });
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path, std::size_t longest)
    : name_(path == "-" ? "standard input" : path.string()), longest_(longest) {
  if (path != "-") stream_.emplace(path);
}

// Goes to the next file inside, as CorpusStream does. Returns false at the end.
bool LineReader::next_file() {
  if (utf16_) replaced_ += utf16_->replaced();
  utf16_.reset();
  at_start_ = before_line_1_ = true;
  inspected_ = 0;
  if (stream_) return stream_->next_file();
  return !std::exchange(opened_, true) && open_input();
}

// Reads only enough bytes to tell whether the input is compressed, since the rest may arrive much
// later.
bool LineReader::open_input() {
  std::string more;
  while (is_undecided(input_) && read_input(more)) input_ += more;
  if (is_packed(input_)) {
    stream_.emplace("-", std::move(input_));
    return stream_->next_file();
  }
  input_is_new_ = !input_.empty();
  return input_is_new_;
}

// Returns false at the end. A terminal would continue beyond it.
bool LineReader::read_input(std::string& bytes) {
  bytes.resize(input_ended_ ? 0 : kInputBytes);
  while (!input_ended_) {
    const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.resize(static_cast<std::size_t>(size));
      input_bytes_ += bytes.size();
      input_ended_ = size == 0;
      break;
    }
    if (errno == EAGAIN) {  // an earlier user of the terminal left it so
      pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      ::poll(&input, 1, -1);
    } else if (errno != EINTR) {
      throw_failure(name_, "cannot read: " + system_message(errno));
    }
  }
  return !bytes.empty();
}

std::string_view LineReader::raw() {
  if (stream_) return stream_->read_bytes();
  if (!std::exchange(input_is_new_, false)) read_input(input_);
  return input_;
}

// Enough bytes for a byte order mark, whatever the size of the blocks.
std::string_view LineReader::first_bytes() {
  std::string_view bytes = raw();
  if (bytes.empty() || !is_undecided(bytes)) return bytes;
  begin_ = bytes;
  for (bytes = raw(); !bytes.empty(); bytes = raw()) {
    begin_ += bytes;
    if (!is_undecided(begin_)) break;
  }
  return begin_;
}

std::string_view LineReader::decoded(std::string_view bytes) {
  text_.clear();
  if (bytes.empty()) {
    utf16_->finish(text_);
  } else {
    // One byte of a unit gives no text yet, and an empty text would mean the end.
    for (; !bytes.empty() && text_.empty(); bytes = text_.empty() ? raw() : "") {
      utf16_->feed(bytes, text_);
    }
    if (text_.empty()) utf16_->finish(text_);
  }
  return text_;
}

std::string_view LineReader::text() {
  std::string_view bytes;
  if (std::exchange(at_start_, false)) {
    bytes = first_bytes();
    const bool little = bytes.starts_with(kLittleEndian);
    if (little || bytes.starts_with(kBigEndian)) {
      utf16_.emplace(little ? Utf16Decoder::Order::little_endian : Utf16Decoder::Order::big_endian);
      bytes.remove_prefix(kLittleEndian.size());
      if (bytes.empty()) bytes = raw();
    }
  } else {
    bytes = raw();
  }
  if (utf16_) bytes = decoded(bytes);
  if (inspected_ < kInspected) {
    refuse_binary(name(), bytes, inspected_);
    inspected_ += bytes.size();
  }
  return bytes;
}

// The next bytes of the current file. Returns false at its end.
bool LineReader::fill() {
  if (block_.empty()) block_ = text();
  return !block_.empty();
}

bool LineReader::next(std::string_view& line) {
  while (!in_file_ || !fill()) {
    in_file_ = next_file();
    if (!in_file_) return false;
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
  if (std::exchange(before_line_1_, false)) {
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    ++files_;
  }
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
