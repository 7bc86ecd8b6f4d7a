#include "training/stored_metrics.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/fields.h"
#include "base/file.h"
#include "report/json_lines.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFigure = "validation_";  // before its name in metrics.jsonl

// Ranked by the same figure as the run's other validations.
ValidationRecord record_of(const nlohmann::json& line, const Ranking& ranking,
                           const std::string& file) {
  const JsonFields fields(line, file);
  ValidationRecord record{
      .step = fields.count("step"), .minutes = fields.amount("minutes"), .ranking = ranking};
  for (const std::string& name : fields.names()) {
    if (name.starts_with(kFigure))
      record.figures[name.substr(kFigure.size())] = fields.number(name);
  }
  return record;
}

}  // namespace

std::vector<nlohmann::json> read_metrics(const fs::path& run) {
  const fs::path file = run / "metrics.jsonl";
  return is_present(file) ? read_json_lines(file) : std::vector<nlohmann::json>();
}

std::vector<ValidationRecord> validations_in(const std::vector<nlohmann::json>& lines,
                                             const Ranking& ranking, const std::string& file) {
  std::vector<ValidationRecord> found;
  for (const nlohmann::json& line : lines) {
    if (line.value("kind", nlohmann::json()) != "validation") continue;
    ValidationRecord record = record_of(line, ranking, file);
    const bool again = !found.empty() && found.back().step == record.step;
    if (!again && record.figures.contains(ranking.figure)) found.push_back(std::move(record));
  }
  return found;
}

bool is_training_line(const nlohmann::json& line) {
  return line.value("kind", nlohmann::json()) == "training";
}

Consumed consumed_at(const nlohmann::json& line) {
  return {.steps = line.value("step", std::int64_t{0}),
          .epochs = line.value("epochs", 0.0),
          .tokens = line.value("tokens", std::int64_t{0}),
          .minutes = line.value("minutes", 0.0)};
}

TrainingSummary summary_so_far(const fs::path& run, const Ranking& ranking) {
  if (const std::optional<TrainingSummary> summary = read_training_summary(run)) return *summary;
  const std::vector<nlohmann::json> lines = read_metrics(run);
  TrainingSummary summary{.reason = StopReason::signal};
  const auto last = std::find_if(lines.rbegin(), lines.rend(), is_training_line);
  if (last != lines.rend()) {
    summary.consumed = consumed_at(*last);
    summary.tokens_per_second = last->value("tokens_per_s", 0.0);
  }
  summary.validations = validations_in(lines, ranking, (run / "metrics.jsonl").string());
  return summary;
}

}  // namespace roformer
