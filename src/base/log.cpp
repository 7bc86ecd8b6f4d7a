#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/terminal.h"

namespace roformer::log {

void initialize() {
  auto terminal = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      wants_color(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
  terminal->set_pattern("%^%v%$");
  auto logger = std::make_shared<spdlog::logger>("roformer", terminal);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

FileSink::FileSink(const std::filesystem::path& path) {
  try {
    sink_ = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  } catch (const spdlog::spdlog_ex& error) {
    throw_failure(path.string(), std::string("cannot write the log: ") + error.what());
  }
  sink_->set_pattern("%Y-%m-%d %H:%M:%S %l %v");
  spdlog::default_logger()->sinks().push_back(sink_);
}

FileSink::~FileSink() {
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.erase(std::remove(sinks.begin(), sinks.end(), sink_), sinks.end());
}

void FileSink::error(const std::string& message) const {
  sink_->log(spdlog::details::log_msg("", spdlog::level::err, message));
  sink_->flush();
}

}  // namespace roformer::log
