#include "training/training_state.h"

#include <cmath>
#include <utility>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/json.h"

namespace roformer {
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

}  // namespace roformer
