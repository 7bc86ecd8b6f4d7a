#include "training/training_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/memory.h"
#include "tensor/device.h"

namespace roformer {
namespace {

// "950", "12.3k", "1.23M": four characters or five.
std::string short_count(double value) {
  const double unit = value >= 999'500 ? 1e6 : value >= 9'995 ? 1e3 : 1;
  if (unit == 1) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}{}", value / unit,
                     value / unit < 9.995   ? 2
                     : value / unit < 99.95 ? 1
                                            : 0,
                     unit == 1e6 ? "M" : "k");
}

// "1.0e-4"
std::string short_rate(double rate) {
  std::string text = fmt::format("{:.1e}", rate);
  const std::size_t zero = text.find_first_of("+-", 1) + 1;
  if (text[zero] == '0') text.erase(zero, 1);
  return text;
}

// Fits 80 columns up to 100,000 steps. The most important parts come first: a narrow terminal has
// no room for the last.
std::vector<std::string> live_parts(const StepReport& report) {
  std::string step = "step " + format_count(report.step);
  step += report.steps > 0 ? "/" + format_count(report.steps)
                           : fmt::format(" ({:.0f} %)", 100 * report.done);
  std::vector<std::string> parts{step};
  if (report.stage > 0) parts.push_back(fmt::format("stage {}", report.stage));
  parts.push_back(fmt::format("loss {:#.4g}", report.loss));
  parts.push_back("lr " + short_rate(report.learning_rate));
  parts.push_back(short_count(report.tokens_per_second) + " tokens/s");
  if (report.seconds_left >= 0) parts.push_back("ETA " + format_duration(report.seconds_left));
  const std::uint64_t gpu = peak_gpu_memory();
  parts.push_back(format_bytes(gpu > 0 ? gpu : peak_memory()));
  parts.push_back(fmt::format("gradient {:.2f}", report.gradient_norm));
  return parts;
}

// A line of the log.
std::vector<std::string> parts_of(const StepReport& report) {
  const std::string left =
      report.seconds_left < 0 ? "" : ", " + format_duration(report.seconds_left) + " left";
  std::vector<std::string> parts{
      fmt::format("step {} ({:.0f} %{})", format_count(report.step), 100 * report.done, left)};
  if (report.stage > 0) parts.push_back(fmt::format("stage {}", report.stage));
  parts.push_back(fmt::format("loss {:.4f}", report.loss));
  parts.push_back(format_count(std::llround(report.tokens_per_second)) + " tokens/s");
  parts.push_back(fmt::format("learning rate {:.2e}", report.learning_rate));
  parts.push_back(fmt::format("gradient {:.2f}", report.gradient_norm));
  return parts;
}

const RunDirectory& cut_back(const RunDirectory& run, std::int64_t step) {
  truncate_after(run.metrics(), step);
  return run;
}

}  // namespace

TrainingLog::TrainingLog(const RunDirectory& run, std::int64_t step)
    : metrics_(cut_back(run, step).metrics()),
      events_(
          run.tensorboard(),
          {.resume_after_step = run.resumed() ? std::optional<std::int64_t>(step) : std::nullopt}) {
}

void TrainingLog::live(const StepReport& report) {
  line_.show(live_parts(report));
}

void TrainingLog::window(const StepReport& report, const TrainingState& state) {
  const MetricsWindow& window = state.window;
  const auto steps = static_cast<double>(std::max<std::int64_t>(window.steps, 1));
  const double seconds = std::max(window.seconds, 1e-9);
  nlohmann::ordered_json line = {{"kind", "training"},
                                 {"step", report.step},
                                 {"epochs", state.consumed.epochs},
                                 {"tokens", state.consumed.tokens},
                                 {"minutes", state.consumed.minutes},
                                 {"loss", report.loss},
                                 {"learning_rate", report.learning_rate},
                                 {"gradient_norm", report.gradient_norm},
                                 {"tokens_per_s", report.tokens_per_second},
                                 {"step_ms", 1e3 * window.seconds / steps},
                                 {"loader_wait_ms", 1e3 * window.loader_seconds / steps},
                                 {"loader_share", window.loader_seconds / seconds},
                                 {"skipped", window.skipped}};
  if (const std::uint64_t peak = peak_gpu_memory(); peak > 0) line["gpu_memory_mib"] = peak >> 20;
  if (report.stage > 0) line["stage"] = report.stage;
  metrics_.append(line);
  events_.scalar("training/loss", report.loss, report.step);
  events_.scalar("training/learning_rate", report.learning_rate, report.step);
  events_.scalar("training/gradient_norm", report.gradient_norm, report.step);
  events_.scalar("training/tokens_per_second", report.tokens_per_second, report.step);
  if (!line_.is_terminal()) log::info("{}", fmt::join(parts_of(report), "  "));
}

void TrainingLog::validation(const ValidationRecord& record, bool best) {
  nlohmann::ordered_json line = {
      {"kind", "validation"}, {"step", record.step}, {"minutes", record.minutes}};
  for (const auto& [name, value] : record.figures) {
    line["validation_" + name] = value;
    events_.scalar("validation/" + name, value, record.step);
  }
  metrics_.append(line);
  line_.clear();
  log::info("validation at step {}  {}{}", format_count(record.step),
            describe_figures(record.figures, "  "), best ? "  (best so far)" : "");
}

}  // namespace roformer
