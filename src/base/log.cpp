#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/error.h"
#include "base/live_line.h"
#include "base/printable.h"
#include "base/terminal.h"

namespace roformer::log {
namespace {

constexpr char kMessage = '*';    // replaced by spdlog's %v in the patterns below
constexpr char kClearLine = '~';  // erases the live line, which would else end in the message

class ClearLine : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& /*message*/, const std::tm& /*time*/,
              spdlog::memory_buf_t& line) override {
    const std::string_view erase = live_line_shown.exchange(false) ? kEraseLine : "";
    line.append(erase.data(), erase.data() + erase.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<ClearLine>();
  }
};

class CleanMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& line) override {
    const std::string text = clean_text({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<CleanMessage>();
  }
};

// Cleans log files too, because people show them on terminals.
void set_clean_pattern(spdlog::sinks::sink& sink, const char* pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<CleanMessage>(kMessage).add_flag<ClearLine>(kClearLine).set_pattern(pattern);
  sink.set_formatter(std::move(formatter));
}

// Appends each line at once. The library's own sink would open its file by name, through any link.
class AppendingSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit AppendingSink(Descriptor file) : file_(std::move(file)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const char* rest = line.data();
    for (std::size_t left = line.size(); left > 0;) {
      const ssize_t written = ::write(file_.number(), rest, left);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw spdlog::spdlog_ex("cannot write the log", errno);
      rest += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  void flush_() override {}

 private:
  Descriptor file_;
};

}  // namespace

void initialize() {
  auto terminal = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      wants_color(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
  set_clean_pattern(*terminal, "%~%^%*%$");
  auto logger = std::make_shared<spdlog::logger>("roformer", terminal);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

FileSink::FileSink(const InnerPath& path) {
  Descriptor file = path.open(O_WRONLY | O_CREAT | O_APPEND);
  if (!file) throw_failure(path.string(), "cannot write the log: " + system_message(errno));
  sink_ = std::make_shared<AppendingSink>(std::move(file));
  set_clean_pattern(*sink_, "%Y-%m-%d %H:%M:%S %l %*");
  spdlog::default_logger()->sinks().push_back(sink_);
}

FileSink::~FileSink() {
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.erase(std::remove(sinks.begin(), sinks.end(), sink_), sinks.end());
}

void FileSink::error(const std::string& message) const {
  try {
    sink_->log(spdlog::details::log_msg("", spdlog::level::err, message));
    sink_->flush();
  } catch (const spdlog::spdlog_ex&) {
    // The caller reports it on the terminal; the disk may be full.
  }
}

}  // namespace roformer::log
