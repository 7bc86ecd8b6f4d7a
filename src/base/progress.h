// Shows the progress of long work: a live line on a terminal, otherwise a plain line now and then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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
  // True if a line would be shown now; otherwise the caller need not format one.
  bool due() const;
  void show(std::string_view given);
  // Shows the parts, two spaces apart. On a terminal, a part that does not fit is left out whole,
  // because half a number would be a wrong one.
  void show(const std::vector<std::string>& parts);
  // Erases the live line, so that something else can be printed.
  void clear();
  bool is_terminal() const { return terminal_; }
  // The length of the longest line that fits; no limit outside a terminal.
  std::size_t columns() const;

 private:
  bool terminal_;
  bool visible_ = false;
  std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_;
};

// A bar with rate and remaining time, for work of known or unknown (total 0) size.
class ProgressBar {
 public:
  ProgressBar(std::string title, std::uint64_t total, std::string unit);
  // Shows on a terminal that the work has begun, before any of it is done.
  void begin();
  void advance_to(std::uint64_t done);
  // Erases the live line, so that something else can be printed.
  void clear() { line_.clear(); }
  // Prints the closing line: title, amount, time, rate.
  void finish(std::uint64_t done);

 private:
  std::string title_;
  std::uint64_t total_;
  std::string unit_;  // "B" prints amounts as bytes, any other unit as counts
  StatusLine line_;
  std::chrono::steady_clock::time_point start_;

  std::vector<std::string> describe(std::uint64_t done) const;
};

// Shows "TITLE  12s" while it lives, beginning after two seconds: for work with unknown progress.
class ElapsedLine {
 public:
  explicit ElapsedLine(std::string title);
  ~ElapsedLine();
  ElapsedLine(const ElapsedLine&) = delete;
  ElapsedLine& operator=(const ElapsedLine&) = delete;

 private:
  std::string title_;
  StatusLine line_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool ended_ = false;
  std::thread thread_;  // last, because it uses the others

  void show_until_ended();
};

}  // namespace roformer
