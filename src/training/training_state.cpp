#include "training/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "report/json_lines.h"
#include "training/stored_metrics.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kStateFormat = "roformer checkpoint";
constexpr int kStateVersion = 1;

json to_json(const MetricsWindow& window) {
  return {{"loss_sum", window.loss_sum},
          {"places", window.targets},
          {"tokens", window.tokens},
          {"steps", window.steps},
          {"skipped", window.skipped},
          {"seconds", window.seconds},
          {"loader_seconds", window.loader_seconds},
          {"norm_sum", window.norm_sum}};
}

MetricsWindow window_from_json(const JsonFields& fields) {
  return {.loss_sum = fields.number("loss_sum"),
          .norm_sum = fields.number("norm_sum"),
          .targets = fields.count("places"),
          .tokens = fields.count("tokens"),
          .steps = fields.count("steps"),
          .skipped = fields.count("skipped"),
          .seconds = fields.amount("seconds"),
          .loader_seconds = fields.amount("loader_seconds")};
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
constexpr std::array<std::pair<StopReason, const char*>, 4> kReasons = {
    {{StopReason::finished, "finished"},
     {StopReason::patience, "patience"},
     {StopReason::signal, "signal"},
     {StopReason::diverged, "diverged"}}};

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

json to_json(const ValidationRecord& record) {
  return {{"step", record.step},
          {"minutes", record.minutes},
          {"figures", record.figures},
          {"ranked_by", record.ranking.figure},
          {"higher_is_better", record.ranking.higher_is_better}};
}

ValidationRecord validation_from_json(const JsonFields& fields) {
  ValidationRecord record{.step = fields.count("step"), .minutes = fields.amount("minutes")};
  record.ranking.figure = fields.text("ranked_by");
  record.ranking.higher_is_better = fields.flag("higher_is_better");
  const JsonFields figures = fields.object("figures");
  for (const std::string& name : figures.names()) {
    record.figures[name] = figures.number(name);
  }
  if (!record.figures.contains(record.ranking.figure)) {
    fields.refuse("ranked_by", "the name of a figure");
  }
  return record;
}

json to_json(const TrainingState& state) {
  json validations = json::array();
  for (const ValidationRecord& record : state.validations) validations.push_back(to_json(record));
  json document = {{"format", kStateFormat},
                   {"version", kStateVersion},
                   {"seed", state.seed},
                   {"step", state.consumed.steps},
                   {"epochs", state.consumed.epochs},
                   {"tokens", state.consumed.tokens},
                   {"minutes", state.consumed.minutes},
                   {"optimizer_updates", state.optimizer_updates},
                   {"skipped_steps", state.skipped_steps},
                   {"skipped_in_row", state.skipped_in_row},
                   {"without_improvement", state.without_improvement},
                   {"validation_due", state.validation_due},
                   {"window", to_json(state.window)},
                   {"validations", std::move(validations)},
                   {"tokens_per_second", state.tokens_per_second},
                   {"cursor", {{"batch", state.next_batch}}}};
  if (state.left_out > 0) document["validations_left_out"] = state.left_out;
  return document;
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
  TrainingState state{.seed = fields.unsigned_count("seed"),
                      .consumed = {.steps = fields.count("step"),
                                   .epochs = fields.amount("epochs"),
                                   .tokens = fields.count("tokens"),
                                   .minutes = fields.amount("minutes")},
                      .optimizer_updates = fields.count("optimizer_updates"),
                      .skipped_steps = fields.count("skipped_steps"),
                      .skipped_in_row = fields.count("skipped_in_row"),
                      .without_improvement = fields.count("without_improvement"),
                      .validation_due = fields.flag("validation_due"),
                      .window = window_from_json(fields.object("window"))};
  for (const JsonFields& record : fields.objects("validations")) {
    state.validations.push_back(validation_from_json(record));
  }
  if (fields.has("validations_left_out")) state.left_out = fields.count("validations_left_out");
  for (const json& rate : fields.list("tokens_per_second")) {
    if (!rate.is_number()) fields.refuse("tokens_per_second", "a list of numbers");
    state.tokens_per_second.push_back(rate.get<double>());
  }
  state.next_batch = fields.object("cursor").count("batch");
  return state;
}

TrainingState read_training_state(const std::filesystem::path& file) {
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
    log::warn("{} does not have {} of the validations so far: the summary will be without them",
              metrics.string(), format_count(missing));
  }
  std::ranges::move(found, std::back_inserter(state.validations));
  std::ranges::stable_sort(state.validations, {}, &ValidationRecord::step);
  state.left_out = std::max<std::int64_t>(missing, 0);
}

json to_json(const TrainingSummary& summary) {
  json validations = json::array();
  for (const ValidationRecord& record : summary.validations) {
    validations.push_back(to_json(record));
  }
  const auto reason = std::find_if(kReasons.begin(), kReasons.end(),
                                   [&](const auto& pair) { return pair.first == summary.reason; });
  json document = {{"format", kSummaryFormat},
                   {"version", kSummaryVersion},
                   {"reason", reason->second},
                   {"signal", summary.signal},
                   {"steps", summary.consumed.steps},
                   {"epochs", summary.consumed.epochs},
                   {"tokens", summary.consumed.tokens},
                   {"minutes", summary.consumed.minutes},
                   {"parameters", summary.parameters},
                   {"skipped_steps", summary.skipped_steps},
                   {"tokens_per_second", summary.tokens_per_second},
                   {"peak_memory_bytes", summary.peak_memory_bytes},
                   {"validations", std::move(validations)}};
  if (summary.reason == StopReason::diverged) document["divergence"] = summary.divergence;
  return document;
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
  const JsonFields fields(document, file);
  const std::string text = fields.text("reason");
  const auto reason = std::find_if(kReasons.begin(), kReasons.end(),
                                   [&](const auto& pair) { return pair.second == text; });
  if (reason == kReasons.end()) fields.refuse("reason", "finished, patience, signal or diverged");
  TrainingSummary summary{.reason = reason->first,
                          .signal = static_cast<int>(fields.count("signal")),
                          .consumed = {.steps = fields.count("steps"),
                                       .epochs = fields.amount("epochs"),
                                       .tokens = fields.count("tokens"),
                                       .minutes = fields.amount("minutes")},
                          .parameters = fields.count("parameters"),
                          .skipped_steps = fields.count("skipped_steps"),
                          .tokens_per_second = fields.amount("tokens_per_second")};
  if (fields.has("peak_memory_bytes")) {  // older ones have none
    summary.peak_memory_bytes = fields.count("peak_memory_bytes");
  }
  if (fields.has("divergence")) summary.divergence = fields.text("divergence");
  for (const JsonFields& record : fields.objects("validations")) {
    summary.validations.push_back(validation_from_json(record));
  }
  return summary;
}

}  // namespace roformer
