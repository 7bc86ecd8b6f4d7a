#include "runs/step_rows.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/launch.h"
#include "training/batch_part.h"

namespace roformer {
namespace {

// The number of processes that began an older run; 1 in the oldest records. Refuses a number that
// no launcher can start: one step would have so many micro-batches that it never ends.
std::int64_t recorded_processes(const nlohmann::json& record, const Settings& settings) {
  if (!record.contains("processes")) return 1;
  const nlohmann::json& value = record["processes"];
  if (value.is_number_integer() && value >= 1 && value <= kMostProcesses) {
    return value.get<std::int64_t>();
  }
  throw_failure((settings.runs / settings.run / "run.json").string(),
                fmt::format("the field processes is {}, not an integer from 1 to {}",
                            describe_json(value), kMostProcesses));
}

// The rows of a step, or of a step of one stage.
struct StepRows {
  std::string_view key;    // for the message
  std::string of;          // "a step", "a step of stage 2"
  std::int64_t batch = 0;  // 0: micro-batches are filled by tokens
  std::int64_t micro_batches = 0;
};

void refuse_uneven(const StepRows& step, const TrainingSettings& training,
                   const Processes& processes, bool resumes) {
  const std::int64_t parts =
      share_of_step(step.micro_batches, processes.rank(), processes.count()).parts;
  if (parts == 1) return;
  const std::int64_t batch = step.batch, rows = batch * step.micro_batches;
  if (training.reduce == GradientReduction::deterministic) {
    throw_usage("training.reduce",
                fmt::format("deterministic shares whole micro-batches: {} has {}, which {} "
                            "processes cannot share evenly",
                            step.of, step.micro_batches, processes.count()),
                resumes || batch == 0 || batch % parts != 0
                    ? "fast shares their rows, too"
                    : fmt::format("batch {} x accumulation {} has as many rows; fast shares "
                                  "rows, too",
                                  batch / parts, step.micro_batches * parts));
  }
  if (batch % parts == 0) return;
  const std::int64_t below = batch / parts * parts, above = below + parts;
  const std::int64_t nearest = below > 0 && batch - below < above - batch ? below : above;
  throw_usage(std::string(step.key),
              fmt::format("{} has {} rows (batch {} x accumulation {}), which {} processes cannot "
                          "share evenly",
                          step.of, rows, batch, step.micro_batches, processes.count()),
              resumes ? fmt::format("continue with a number of processes that divides {}", rows)
                      : fmt::format("batch {} is the nearest that they can", nearest));
}

}  // namespace

std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes) {
  const nlohmann::json& record = continuation.record;
  const bool of_each = continuation.is_recorded() && record.value(kBatchOf, "") != kBatchOfStep;
  const std::int64_t begun_by = of_each ? recorded_processes(record, settings) : 1;
  const TrainingSettings& training = settings.training;
  const auto rows = [&](const std::optional<std::int64_t>& batch) {
    return training.batch_tokens > 0 ? 0 : batch.value_or(training.batch);
  };
  const std::int64_t all = training.accumulation * begun_by;
  if (settings.stages.empty()) {
    refuse_uneven(
        {.key = "training.batch", .of = "a step", .batch = rows({}), .micro_batches = all},
        training, processes, continuation.is_recorded());
  }
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    const StageSettings& stage = settings.stages[i];
    refuse_uneven({.key = "stages",
                   .of = fmt::format("a step of stage {}", i + 1),
                   .batch = rows(stage.batch),
                   .micro_batches = stage.accumulation.value_or(training.accumulation) * begun_by},
                  training, processes, continuation.is_recorded());
  }
  return all;
}

}  // namespace roformer
