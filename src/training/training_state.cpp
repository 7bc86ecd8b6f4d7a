#include "training/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/stored_fields.h"
#include "report/json_lines.h"
#include "training/stored_metrics.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kStateFormat = "roformer checkpoint";
constexpr int kStateVersion = 1;

const auto describe_window = [](auto& stored, auto& window) {
  stored.number("loss_sum", window.loss_sum);
  stored.number("norm_sum", window.norm_sum);
  stored.count("places", window.targets);
  stored.count("tokens", window.tokens);
  stored.count("steps", window.steps);
  stored.count("skipped", window.skipped);
  stored.amount("seconds", window.seconds);
  stored.amount("loader_seconds", window.loader_seconds);
};

const auto describe_consumed = [](auto& stored, const char* steps, auto& consumed) {
  stored.count(steps, consumed.steps);
  stored.amount("epochs", consumed.epochs);
  stored.count("tokens", consumed.tokens);
  stored.amount("minutes", consumed.minutes);
};

const auto describe_validation = [](auto& stored, auto& record) {
  stored.count("step", record.step);
  stored.amount("minutes", record.minutes);
  stored.field("ranked_by", record.ranking.figure);
  stored.field("higher_is_better", record.ranking.higher_is_better);
  stored.numbers("figures", record.figures);
  stored.require(record.figures.contains(record.ranking.figure), "ranked_by",
                 "the name of a figure");
};

const auto describe_state = [](auto& stored, auto& state) {
  stored.count("seed", state.seed);
  describe_consumed(stored, "step", state.consumed);
  stored.count("optimizer_updates", state.optimizer_updates);
  stored.count("skipped_steps", state.skipped_steps);
  stored.count("skipped_in_row", state.skipped_in_row);
  stored.count("without_improvement", state.without_improvement);
  stored.field("validation_due", state.validation_due);
  stored.map("window", state.window, describe_window);
  stored.list("validations", state.validations, describe_validation);
  if (stored.holds("validations_left_out", state.left_out > 0)) {
    stored.count("validations_left_out", state.left_out);
  }
  stored.numbers("tokens_per_second", state.tokens_per_second);
  stored.map("cursor", state.next_batch,
             [](auto& cursor, auto& batch) { cursor.count("batch", batch); });
};

const auto describe_summary = [](auto& stored, auto& summary) {
  stored.template word<StopReason>("reason", summary.reason,
                                   {{"finished", StopReason::finished},
                                    {"patience", StopReason::patience},
                                    {"signal", StopReason::signal},
                                    {"diverged", StopReason::diverged}});
  stored.count("signal", summary.signal);
  describe_consumed(stored, "steps", summary.consumed);
  stored.count("parameters", summary.parameters);
  stored.count("skipped_steps", summary.skipped_steps);
  stored.amount("tokens_per_second", summary.tokens_per_second);
  // Older summaries lack it.
  if (stored.holds("peak_memory_bytes", true)) {
    stored.count("peak_memory_bytes", summary.peak_memory_bytes);
  }
  if (stored.holds("divergence", summary.reason == StopReason::diverged)) {
    stored.field("divergence", summary.divergence);
  }
  stored.list("validations", summary.validations, describe_validation);
};

// The document with its format and version, which identify it.
template <class Value, class Describe>
json described(const char* format, int version, const Value& value, Describe describe) {
  StoredWriter stored;
  stored.object = {{"format", format}, {"version", version}};
  describe(stored, value);
  return stored.object;
}

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

constexpr const char* kSummaryFormat = "roformer training summary";
constexpr int kSummaryVersion = 1;

}  // namespace

bool ValidationRecord::counts() const {
  const auto loss = figures.find("loss");
  return std::isfinite(ranked()) && (loss == figures.end() || std::isfinite(loss->second));
}

bool is_better(const ValidationRecord& a, const ValidationRecord& b) {
  if (!a.counts() || !b.counts()) return a.counts();
  if (a.ranked() != b.ranked()) return (a.ranked() > b.ranked()) == a.ranking.higher_is_better;
  const auto own = a.figures.find("loss"), other = b.figures.find("loss");
  return own != a.figures.end() && other != b.figures.end() && own->second < other->second;
}

const ValidationRecord* best_of(const std::vector<ValidationRecord>& validations) {
  const ValidationRecord* best = nullptr;
  for (const ValidationRecord& record : validations) {
    if (record.counts() && (best == nullptr || is_better(record, *best))) best = &record;
  }
  return best;
}

const ValidationRecord* TrainingState::current() const {
  const bool validated = !validations.empty() && validations.back().step == consumed.steps;
  return validated ? &validations.back() : nullptr;
}

json to_json(const TrainingState& state) {
  return described(kStateFormat, kStateVersion, state, describe_state);
}

TrainingState training_state_from_json(const json& document, const std::string& file) {
  if (!document.is_object() || document.value("format", json()) != kStateFormat) {
    throw_failure(file, "is not the state of a checkpoint");
  }
  const JsonFields fields(document, file);
  if (fields.any("version") != kStateVersion) {
    throw_failure(file, "has version " + describe_json(fields.any("version")) +
                            ", this program reads " + std::to_string(kStateVersion));
  }
  TrainingState state;
  StoredReader stored(fields);
  describe_state(stored, state);
  return state;
}

TrainingState read_training_state(const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = checkpoint / kStateFile;
  return training_state_from_json(read_checksummed_json(file), file.string());
}

std::string describe_figures(const Figures& figures, const std::string& separator) {
  std::string text;
  for (const auto& [name, value] : figures) {
    if (name.ends_with(kStandardError)) continue;
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : separator, name, value);
    const auto error = figures.find(name + kStandardError);
    if (error != figures.end()) text += fmt::format(" ± {:.4f}", error->second);
  }
  return text;
}

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
  // Lines of later steps belong to steps that are made again.
  const std::int64_t last = state.validations.back().step;
  const Ranking ranking = state.validations.back().ranking;
  std::vector<ValidationRecord> found;
  if (is_present(metrics)) {
    found = validations_in(read_json_lines(metrics), ranking, metrics.string());
    std::erase_if(found, [&](const ValidationRecord& record) {
      return record.step > last || known(record.step);
    });
  }
  const std::int64_t missing = state.left_out - std::ssize(found);
  if (missing > 0) {
    log::warn("{} lacks {} of the validations so far: the summary will omit them", metrics.string(),
              format_count(missing));
  }
  std::ranges::move(found, std::back_inserter(state.validations));
  std::ranges::stable_sort(state.validations, {}, &ValidationRecord::step);
  state.left_out = std::max<std::int64_t>(missing, 0);
}

json to_json(const TrainingSummary& summary) {
  return described(kSummaryFormat, kSummaryVersion, summary, describe_summary);
}

std::optional<TrainingSummary> read_training_summary(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "summary.json";
  if (!is_present(path)) return std::nullopt;
  const std::string file = path.string();
  const json document = read_checksummed_json(path);
  if (!document.is_object() || document.value("format", json()) != kSummaryFormat ||
      document.value("version", json()) != kSummaryVersion) {
    throw_failure(file, "is not a training summary of version " + std::to_string(kSummaryVersion));
  }
  TrainingSummary summary;
  StoredReader stored(JsonFields(document, file));
  describe_summary(stored, summary);
  return summary;
}

}  // namespace roformer
