#include "runs/continuation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/json.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/load.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The run.json of a run; null where it was stopped before that was written.
nlohmann::json read_record(const fs::path& run) {
  const fs::path file = run / "run.json";
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  if (fs::file_size(file, error) == 0) {  // as a loss of power leaves it
    log::warn("{} is empty: what the run was begun with is not compared, and is written anew",
              file.string());
    return nullptr;
  }
  nlohmann::json record = read_checksummed_json(file);
  if (!record.is_object()) throw_failure(file.string(), "is not the record of a run");
  return record;
}

// Of data.sources or of the stages, one by one: fingerprints ("… x weight") or counts of tokens.
[[noreturn]] void refuse_other_list(const std::string& field, const nlohmann::json& now,
                                    const nlohmann::json& then) {
  const std::size_t end = field.find('_');
  const std::string of = field.substr(0, end);  // "source", "stage"
  std::string words = field.substr(std::min(end, field.size() - 1) + 1);
  std::replace(words.begin(), words.end(), '_', ' ');
  if (words.ends_with("fingerprints")) words.pop_back();
  std::size_t i = 0;
  while (i < now.size() && i < then.size() && now[i] == then[i]) ++i;
  const auto text = [&](const nlohmann::json& list) {
    if (i >= list.size()) return std::string("not there");
    return list[i].is_string() ? list[i].get<std::string>() : list[i].dump();
  };
  throw_usage(of == "source" ? "data.sources" : of + "s",
              fmt::format("{} {} is not what the run was begun with: {} {} now, {} then", of, i + 1,
                          words, text(now), text(then)),
              "what they were then, or another run with --run NAME");
}

// By how many processes the run was begun; 1 in old records. A number that no launcher can start
// would make one step of so many micro-batches that it never ends.
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

// A run without a checkpoint begins again, and from the weights that its record names.
void compare_source(const nlohmann::json& record, const nlohmann::json& fingerprint,
                    const Settings& settings) {
  const nlohmann::json::json_pointer pointer("/data/from_fingerprint");
  if (!record.contains(pointer) || record[pointer] == fingerprint) return;
  throw_usage("model.from",
              fmt::format("{} holds other weights than when the run was begun",
                          settings.model.from.string()),
              "start another run with --run NAME, or --overwrite this one");
}

// A training that is as long already would be said to be what it is not.
void refuse_shorter(const Settings& settings, const fs::path& folder) {
  const Period& steps = settings.training.steps;
  if (load_settings(folder / "config.yaml").training.steps == steps) return;
  Consumed consumed;
  try {
    const fs::path last = list_checkpoints(folder / "checkpoints").back();
    consumed = read_training_state(last / "state.json").consumed;
  } catch (const Error&) {
    return;  // it is set aside, or refused, where it is loaded
  }
  if (consumed.in(steps.unit) <= steps.amount) return;
  throw_usage("training.steps",
              fmt::format("got {}, but the run has come to {} (step {})", to_string(steps),
                          to_string(Period{consumed.in(steps.unit), steps.unit}),
                          format_count(consumed.steps)),
              "a longer training, or --run NAME for another");
}

}  // namespace

Continuation look_at_run(const Settings& settings, ExistingRun existing) {
  const fs::path folder = settings.runs / settings.run;
  Continuation continuation{.goes_on = existing == ExistingRun::resume && is_run(folder)};
  if (!continuation.goes_on) return continuation;
  continuation.has_checkpoints = !list_checkpoints(folder / "checkpoints").empty();
  continuation.record = read_record(folder);
  if (continuation.is_recorded() && continuation.record.contains("/data/average_of"_json_pointer)) {
    throw_usage(
        folder.string(), "is an average of checkpoints, which cannot be trained further",
        "--resume the run that they are of, or start from it: --model.from " + folder.string());
  }
  std::error_code error;
  if (task_facts(settings.task).data != TaskData::generated &&
      !fs::exists(settings.data.directory, error)) {
    throw_failure(settings.data.directory.string(), "the data of the run are not there",
                  "say where they are: --data.directory FOLDER");
  }
  if (continuation.has_checkpoints) refuse_shorter(settings, folder);
  return continuation;
}

void require_same(const Continuation& continuation, const nlohmann::json& data,
                  const Settings& settings, const ComputePlan& plan) {
  if (!continuation.is_recorded()) return;
  const nlohmann::json& record = continuation.record;
  const nlohmann::json begun = record.value("data", nlohmann::json::object());
  for (const auto& [field, now] : data.items()) {
    if (field == "folder" || field == "name") continue;  // data may be moved
    if (field == "from_fingerprint") {
      compare_source(record, now, settings);
      continue;
    }
    if (!begun.is_object() || !begun.contains(field) || begun[field] == now) continue;
    if (now.is_array() && begun[field].is_array()) refuse_other_list(field, now, begun[field]);
    std::string words = field;
    std::replace(words.begin(), words.end(), '_', ' ');
    throw_usage(
        "data.directory",
        fmt::format("{} does not hold the data that the run was begun with: {} {} now, {} then",
                    data["folder"].get<std::string>(), words, describe_json(now),
                    describe_json(begun[field])),
        fmt::format("name the data that were in {}, or start another run with --run NAME",
                    begun.value("folder", "data.directory then")));
  }
  const nlohmann::json precision = record.value("precision", nlohmann::json());
  if (!precision.is_string() || precision == to_word(plan.precision)) return;
  if (settings.training.precision != Precision::automatic) {  // it was asked for
    log::warn("the run was begun in {} and goes on in {}", precision.get<std::string>(),
              to_word(plan.precision));
    return;
  }
  throw_usage("training.precision",
              fmt::format("the run was begun in {}, here it would go on in {} ({})",
                          precision.get<std::string>(), to_word(plan.precision), plan.reason),
              "go on with the device of its beginning, or say --training.precision with --resume");
}

std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes) {
  const std::int64_t begun_by = continuation.is_recorded()
                                    ? recorded_processes(continuation.record, settings)
                                    : processes.count();
  const std::int64_t all = settings.training.accumulation * begun_by;
  if (all % processes.count() == 0) return all;
  throw_usage("training.accumulation",
              fmt::format("a step of this run has {} micro-batches, which {} processes cannot "
                          "share evenly",
                          all, processes.count()),
              fmt::format("go on with a number of processes that divides {}", all));
}

}  // namespace roformer
