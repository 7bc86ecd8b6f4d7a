#include "training/training_summary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/checksummed_json.h"
#include "base/error.h"

namespace roformer {
namespace {

using nlohmann::json;

constexpr const char* kSummaryFormat = "roformer training summary";
constexpr int kSummaryVersion = 1;
constexpr std::array<std::pair<StopReason, const char*>, 4> kReasons = {
    {{StopReason::finished, "finished"},
     {StopReason::patience, "patience"},
     {StopReason::signal, "signal"},
     {StopReason::diverged, "diverged"}}};

}  // namespace

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
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
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
