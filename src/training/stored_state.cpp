#include "training/stored_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/progress.h"
#include "report/json_lines.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFigure = "validation_";  // before its name in metrics.jsonl

std::vector<ValidationRecord> stored(const std::vector<ValidationRecord>& all) {
  if (all.size() <= 2 * kStoredValidations) return all;
  std::vector<std::size_t> ranked(all.size());
  std::iota(ranked.begin(), ranked.end(), std::size_t{0});
  std::ranges::stable_sort(ranked,
                           [&](std::size_t a, std::size_t b) { return is_better(all[a], all[b]); });
  std::vector<std::size_t> kept(ranked.begin(), ranked.begin() + kStoredValidations);
  for (std::size_t i = all.size() - kStoredValidations; i < all.size(); ++i) kept.push_back(i);
  std::ranges::sort(kept);
  const auto twice = std::ranges::unique(kept);
  kept.erase(twice.begin(), twice.end());
  std::vector<ValidationRecord> records;
  for (const std::size_t i : kept) records.push_back(all[i]);
  return records;
}

// Ranked as the others of the run are.
ValidationRecord record_of(const nlohmann::json& line, const std::string& file,
                           const Ranking& ranking) {
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

nlohmann::json to_stored_json(const TrainingState& state) {
  TrainingState shortened = state;
  shortened.validations = stored(state.validations);
  shortened.left_out += std::ssize(state.validations) - std::ssize(shortened.validations);
  return to_json(shortened);
}

void complete_validations(TrainingState& state, const fs::path& metrics) {
  if (state.left_out == 0 || state.validations.empty()) return;
  const auto known = [&](std::int64_t step) {
    const auto found = std::ranges::find(state.validations, step, &ValidationRecord::step);
    return found != state.validations.end();
  };
  // Lines of later steps are of what is done again.
  const std::int64_t last = state.validations.back().step;
  const Ranking ranking = state.validations.back().ranking;
  std::vector<ValidationRecord> found;
  std::error_code error;
  if (fs::exists(metrics, error)) {
    for (const nlohmann::json& line : read_json_lines(metrics)) {
      if (line.value("kind", nlohmann::json()) != "validation") continue;
      ValidationRecord record = record_of(line, metrics.string(), ranking);
      const bool again = !found.empty() && found.back().step == record.step;
      if (record.step > last || again || known(record.step)) continue;
      if (record.figures.contains(ranking.figure)) found.push_back(std::move(record));
    }
  }
  const std::int64_t missing = state.left_out - std::ssize(found);
  if (missing > 0) {
    log::warn("{} does not have {} of the validations so far: the summary will be without them",
              metrics.string(), format_count(missing));
  }
  std::ranges::move(found, std::back_inserter(state.validations));
  std::ranges::stable_sort(state.validations, {}, &ValidationRecord::step);
  state.left_out = std::max<std::int64_t>(missing, 0);
}

}  // namespace roformer
