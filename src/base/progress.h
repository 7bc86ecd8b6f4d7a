// Progress of long work: a live line on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

// "1h 02m", "3m 10s", "12s".
std::string format_duration(double seconds);
// Thousands separated by commas: 1,234,567.
std::string format_count(std::int64_t value);
// "1 thread", "2 threads".
std::string format_counted(std::int64_t value, std::string_view noun);
// "1.2 GiB", "340 MiB", "12 KiB".
std::string format_bytes(std::uint64_t bytes);

// One status line on standard error. On a terminal it is rewritten in place at most ten times a
// second; elsewhere every `plain_interval` one line is printed.
class StatusLine {
 public:
  explicit StatusLine(std::chrono::milliseconds plain_interval = std::chrono::seconds(30));
  ~StatusLine();
  // True when a line would be shown now; the caller formats only then.
  bool due() const;
  void show(std::string_view given);
  // Erases the live line, so that something else can be printed.
  void clear();
  bool is_terminal() const { return terminal_; }

 private:
  bool terminal_;
  bool visible_ = false;
  std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_;
};

// A bar with rate and time left for work of known or unknown (total 0) size.
class ProgressBar {
 public:
  ProgressBar(std::string title, std::uint64_t total, std::string unit);
  void advance_to(std::uint64_t done);
  // Prints the closing line: title, amount, time, rate.
  void finish(std::uint64_t done);

 private:
  std::string title_;
  std::uint64_t total_;
  std::string unit_;  // "B" prints amounts as bytes, anything else as counts of that unit
  StatusLine line_;
  std::chrono::steady_clock::time_point start_;

  std::string describe(std::uint64_t done) const;
};

}  // namespace roformer
