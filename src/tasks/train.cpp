#include "tasks/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/command_line.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/version.h"
#include "config/dump.h"
#include "config/load.h"
#include "config/problems.h"
#include "config/schema.h"
#include "data/dataset.h"
#include "tasks/glue_task.h"
#include "tasks/language_task.h"
#include "tasks/model_source.h"
#include "tensor/device.h"
#include "training/checkpoint.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

void check_data(const Settings& settings) {
  if (!settings.data.directory.empty()) return;
  if (settings.task == TaskKind::glue) {
    throw_usage("data.directory", "nothing to train on",
                "--data.directory FOLDER, the GLUE folder that holds MRPC/, SST-2/ and so on");
  }
  throw_usage("data.directory", "nothing to train on",
              "make a data set with `roformer data prepare`, then --data.directory FOLDER");
}

// A recipe that says how the data is split holds for its prepared set, too.
void check_split(const Settings& settings, const DatasetDescription& description) {
  const double wanted = settings.data.validation_fraction;
  if (wanted == 0 || wanted == description.validation_fraction) return;
  throw_usage(
      "data.validation_fraction",
      fmt::format("{} is wanted, {} was prepared with {}", wanted, settings.data.directory.string(),
                  description.validation_fraction),
      fmt::format("prepare it again with --validation-fraction {}, or set the key to 0", wanted));
}

// A task with what it stands on.
struct OpenedTask {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<TrainingTask> task;
  nlohmann::json data;  // for run.json
};

OpenedTask open_language_task(const Settings& settings, const ComputePlan& plan) {
  OpenedTask opened{.dataset = std::make_unique<Dataset>(settings.data.directory)};
  const DatasetDescription& description = opened.dataset->description();
  check_split(settings, description);
  opened.data = {{"folder", settings.data.directory.string()},
                 {"name", description.name},
                 {"fingerprint", hex(description.fingerprint)},
                 {"tokenizer_fingerprint", hex(description.tokenizer_fingerprint)},
                 {"training_tokens", description[Split::train].counts.tokens},
                 {"validation_tokens", description[Split::validation].counts.tokens}};
  opened.task = make_language_task(settings, *opened.dataset, plan);
  return opened;
}

// The tokenizer is the run's own where it goes on, else the one given, else the source's.
OpenedTask open_glue_task(const Settings& settings, const ComputePlan& plan, ModelSource* source,
                          const std::optional<fs::path>& stored) {
  OpenedTask opened;
  const bool given =
      !settings.tokenizer.file.empty() || settings.tokenizer.kind != TokenizerKind::automatic;
  if (stored) {
    opened.tokenizer = load_tokenizer(*stored);
  } else if (given || source == nullptr) {
    if (!given) {
      throw_usage("tokenizer.file", "is not given, and there is no model.from to take one from",
                  "--model.from RUN, or --tokenizer.file vocab.txt for a new model");
    }
    opened.tokenizer = open_tokenizer(settings.tokenizer);
  } else {
    opened.tokenizer = std::move(source->tokenizer);
  }
  auto task = std::make_unique<GlueTraining>(settings, *opened.tokenizer, plan);
  opened.data = task->data_record();
  opened.task = std::move(task);
  return opened;
}

std::string precision_name(const ComputePlan& plan) {
  return plan.precision == Precision::bf16 ? "bf16" : "fp32";
}

// The run.json of a run; null where it was stopped before that was written.
nlohmann::json read_record(const fs::path& run) {
  const fs::path file = run / "run.json";
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  nlohmann::json record = read_json(file);
  if (!record.is_object()) throw_failure(file.string(), "is not the record of a run");
  return record;
}

// Other data, or the same in another precision, would go on silently with other numbers.
void compare_with_record(const nlohmann::json& record, const nlohmann::json& data,
                         const ComputePlan& plan) {
  const nlohmann::json begun = record.value("data", nlohmann::json::object());
  for (const auto& [field, now] : data.items()) {
    if (field == "folder" || field == "name") continue;  // data may be moved
    if (!begun.is_object() || !begun.contains(field) || begun[field] == now) continue;
    std::string words = field;
    std::replace(words.begin(), words.end(), '_', ' ');
    throw_usage(
        "data.directory",
        fmt::format("{} does not hold the data that the run was begun with: {} {} now, {} then",
                    data["folder"].get<std::string>(), words, describe_json(now), describe_json(begun[field])),
        fmt::format("name the data that were in {}, or start another run with --run NAME",
                    begun.value("folder", "data.directory then")));
  }
  const nlohmann::json precision = record.value("precision", nlohmann::json());
  if (precision.is_string() && precision != precision_name(plan)) {
    throw_usage("training.precision",
                fmt::format("the run was begun in {}, here it would go on in {} ({})",
                            precision.get<std::string>(), precision_name(plan), plan.reason),
                "go on with the device of its beginning, or start another run with --run NAME");
  }
}

std::string shown(const std::string& value) {
  return value.empty() ? "empty" : value;
}

// The file is there to name the run; that it says something else should not go unnoticed.
void warn_of_file(const fs::path& file, const GivenValues& given, const Settings& stored) {
  for (const std::string& name : given.keys) {
    const Key& key = *find_key(name);
    const bool idle = !key.scheme().empty() && key.scheme() != stored.position.scheme;
    const std::string here = key.get(given.settings), there = key.get(stored);
    if (name == "run" || name == "runs" || idle || here == there) continue;
    log::warn("{}: {} is {} in the stored run and {} here; the stored value holds{}", file.string(),
              name, shown(there), shown(here),
              key.may_change ? ", --" + name + " changes it" : std::string());
  }
}

// All flags that a continuation cannot follow.
void refuse_changes(const Settings& stored, const Settings& wanted) {
  Problems problems;
  for (const std::string& name : diff(stored, wanted)) {
    const Key& key = *find_key(name);
    if (key.may_change) continue;
    problems.add({.place = "--" + name,
                  .key = name,
                  .message = fmt::format("is {} in the stored run, got {}", shown(key.get(stored)),
                                         shown(key.get(wanted))),
                  .hint = "leave it out, start another run with --run NAME, or begin again with "
                          "--overwrite"});
  }
  problems.throw_if_any();
}

}  // namespace

Settings read_run_settings(const fs::path& run_or_checkpoint) {
  const fs::path file = run_or_checkpoint / "config.yaml";
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw_failure(run_or_checkpoint.string(), "is no run and no checkpoint: it has no config.yaml",
                  "give the folder that `roformer train` made, for instance runs/quickstart");
  }
  return load_settings(file);
}

Settings resumed_settings(const fs::path& file, const std::vector<Override>& flags) {
  const GivenValues given = load_values(file, flags);
  const fs::path run = given.settings.runs / given.settings.run;
  require_run(run);
  std::vector<Override> changes;
  for (const Override& flag : flags) {  // the run's place is known, whatever it was called before
    if (flag.key != "run" && flag.key != "runs") changes.push_back(flag);
  }
  const fs::path config = run / "config.yaml";
  refuse_changes(read_run_settings(run), load_values(config, changes).settings);
  Settings settings = load_settings(config, changes);
  warn_of_file(file, given, settings);
  settings.run = given.settings.run;
  settings.runs = given.settings.runs;
  return settings;
}

TrainingSummary train_run(const Settings& settings, ExistingRun existing) {
  check_data(settings);
  prepare_threads(settings.threads);
  const ComputePlan plan = plan_compute(settings.device, settings.training.precision);
  const fs::path folder = settings.runs / settings.run;
  const bool goes_on = existing == ExistingRun::resume && is_run(folder);
  const bool begun = goes_on && !list_checkpoints(folder / "checkpoints").empty();
  const nlohmann::json begun_with = goes_on ? read_record(folder) : nlohmann::json();
  std::optional<ModelSource> source;
  if (!settings.model.from.empty() && !begun) source = open_model_source(settings.model.from);
  std::optional<fs::path> stored;
  if (begun || !begun_with.is_null()) stored = folder;
  const OpenedTask opened =
      settings.task == TaskKind::glue
          ? open_glue_task(settings, plan, source ? &*source : nullptr, stored)
          : open_language_task(settings, plan);
  if (!begun_with.is_null()) compare_with_record(begun_with, opened.data, plan);
  std::string start;
  if (source) {
    compare_tokenizers(*source, opened.dataset ? opened.dataset->tokenizer() : *opened.tokenizer);
    if (settings.model.from_weights) {
      start = start_from(*source, settings, opened.task->parameters());
    } else {
      start = source->folder.string() + ": its shape and tokenizer, with new weights";
    }
  }
  source.reset();
  TrainingTask* const task = opened.task.get();
  const RunDirectory run(folder, existing);
  // The configuration makes the folder a run and the record completes it: one that is killed
  // between the two is begun anew by --resume.
  write_file_atomically(run.config(), dump(settings, DumpStyle::compact));
  if (begun_with.is_null()) {
    task->save_assets(run.path().string());
    nlohmann::json record = run_record(
        {.version = kVersion, .commit = kCommit, .command = command_line(), .data = opened.data});
    record["precision"] = precision_name(plan);
    record["precision_reason"] = plan.reason;
    write_file_atomically(run.record(), record.dump(2) + "\n");
  }
  log::info("{}: {} parameters, position {}, {} ({}), {} threads", run.path().string(),
            format_count(task->parameters().count()), settings.position.scheme,
            precision_name(plan), plan.reason, at::get_num_threads());
  if (!start.empty()) log::info("{}", start);
  return train(*task, {.settings = settings.training, .seed = settings.seed, .run = run});
}

}  // namespace roformer
