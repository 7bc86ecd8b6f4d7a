#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/live_line.h"
#include "base/printable.h"
#include "base/terminal.h"

namespace roformer {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr std::size_t kUsualColumns = 80;

std::string format_amount(double amount, const std::string& unit) {
  if (unit == "B") return format_bytes(static_cast<std::uint64_t>(amount));
  return format_count(std::llround(amount)) + " " + unit;
}

// Ignores errors: a closed terminal or a full disk must not end the work.
void put(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

// Slow work also has a rate: "0.23 passes/s".
std::string format_rate(double rate, const std::string& unit) {
  if (unit == "B" || rate >= 10) return format_amount(rate, unit) + "/s";
  return fmt::format("{:.2g} {}/s", rate, unit);
}

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string format_count(std::int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::ptrdiff_t index = static_cast<std::ptrdiff_t>(digits.size()) - 3; index > 0;
       index -= 3) {
    digits.insert(static_cast<std::size_t>(index), ",");
  }
  return value < 0 ? "-" + digits : digits;
}

std::string format_counted(std::int64_t value, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(value), noun, value == 1 ? "" : "s");
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  int unit = 0;
  while (amount >= 1024 && unit < 4) {
    amount /= 1024;
    ++unit;
  }
  return amount >= 100 || unit == 0 ? fmt::format("{:.0f} {}", amount, kUnits[unit])
                                    : fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

StatusLine::StatusLine(std::chrono::milliseconds plain_interval)
    : terminal_(is_smart_terminal(STDERR_FILENO)),
      interval_(terminal_ ? std::chrono::milliseconds(100) : plain_interval),
      last_(std::chrono::steady_clock::now()) {}

StatusLine::~StatusLine() {
  clear();
}

bool StatusLine::due() const {
  return std::chrono::steady_clock::now() - last_ >= interval_;
}

void StatusLine::show(std::string_view given) {
  const std::string text = clean_line(given);
  last_ = std::chrono::steady_clock::now();
  if (terminal_) {
    // A wrapped line could not be erased.
    put(kEraseLine + cut_to_columns(text, columns()));
    visible_ = live_line_shown = true;
  } else {
    put(fmt::format("{}\n", text));
  }
}

void StatusLine::show(const std::vector<std::string>& parts) {
  const std::size_t most = columns();
  std::string text;
  for (const std::string& part : parts) {
    const std::string gap = text.empty() ? "" : "  ";
    if (!text.empty() && columns_of(text + gap + part) > most) continue;
    text += gap + part;
  }
  show(std::string_view(text));
}

std::size_t StatusLine::columns() const {
  if (!terminal_) return std::numeric_limits<std::size_t>::max();
  const std::size_t columns = terminal_columns(STDERR_FILENO, kUsualColumns);
  return columns > 1 ? columns - 1 : 1;  // the cursor needs the last one
}

void StatusLine::clear() {
  if (!visible_) return;
  put(kEraseLine);
  visible_ = live_line_shown = false;
}

ProgressBar::ProgressBar(std::string title, std::uint64_t total, std::string unit)
    : title_(std::move(title)),
      total_(total),
      unit_(std::move(unit)),
      start_(std::chrono::steady_clock::now()) {}

void ProgressBar::begin() {
  if (line_.is_terminal()) line_.show(describe(0));
}

void ProgressBar::advance_to(std::uint64_t done) {
  if (line_.due()) line_.show(describe(done));
}

void ProgressBar::finish(std::uint64_t done) {
  line_.clear();
  const double seconds = seconds_since(start_);
  put(fmt::format("{}: {} in {} ({})\n", clean_line(title_),
                  format_amount(static_cast<double>(done), unit_), format_duration(seconds),
                  format_rate(static_cast<double>(done) / std::max(seconds, 1e-9), unit_)));
}

std::vector<std::string> ProgressBar::describe(std::uint64_t done) const {
  const double seconds = std::max(seconds_since(start_), 1e-9);
  const double rate = static_cast<double>(done) / seconds;
  if (total_ == 0 || done == 0) {
    std::vector<std::string> parts{title_};
    if (total_ > 0) parts.push_back("  0 %");
    if (done > 0) {
      parts.push_back(format_amount(static_cast<double>(done), unit_));
      parts.push_back(format_rate(rate, unit_));
    }
    return parts;
  }
  const double fraction = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  std::vector<std::string> parts{
      title_, fmt::format("{:3.0f} %", fraction * 100), format_rate(rate, unit_),
      format_duration(static_cast<double>(total_ - std::min(done, total_)) / rate) + " left"};
  // The bar takes the space that the numbers leave.
  constexpr std::size_t kWidest = 24, kNarrowest = 6;
  std::size_t used = 4;  // the brackets and the gap
  for (const std::string& part : parts) used += columns_of(part) + 2;
  const std::size_t room = line_.columns() + 2;
  const std::size_t width = room > used ? std::min(kWidest, room - used) : 0;
  if (width >= kNarrowest) {
    const auto filled =
        static_cast<std::size_t>(std::lround(fraction * static_cast<double>(width)));
    parts.insert(parts.begin() + 1,
                 "[" + std::string(filled, '#') + std::string(width - filled, '-') + "]");
  }
  return parts;
}

ElapsedLine::ElapsedLine(std::string title)
    : title_(std::move(title)),
      start_(std::chrono::steady_clock::now()),
      thread_([this] { show_until_ended(); }) {}

ElapsedLine::~ElapsedLine() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wakes_.notify_one();
  thread_.join();
}

void ElapsedLine::show_until_ended() {
  std::unique_lock lock(mutex_);
  auto next = start_ + std::chrono::seconds(2);
  while (!wakes_.wait_until(lock, next, [this] { return ended_; })) {
    next += std::chrono::seconds(1);
    if (line_.due()) {
      line_.show(std::vector{title_, format_duration(seconds_since(start_))});
    }
  }
}

}  // namespace roformer
