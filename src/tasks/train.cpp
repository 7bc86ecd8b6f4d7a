#include "tasks/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <optional>

#include "base/command_line.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/version.h"
#include "config/dump.h"
#include "config/load.h"
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
  throw_usage("data.validation_fraction",
              fmt::format("{} is wanted, {} was prepared with {}", wanted,
                          settings.data.directory.string(), description.validation_fraction),
              fmt::format("prepare it again with --validation-fraction {}, or set the key to 0",
                          wanted));
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
                 {"tokenizer_fingerprint", hex(description.tokenizer_fingerprint)}};
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

Settings resumed_settings(const Settings& stored, const Settings& wanted) {
  for (const std::string& name : diff(stored, wanted)) {
    if (find_key(name)->may_change) continue;
    throw_usage(name, "differs from the stored run, and a continuation cannot change it",
                "leave it out, start another run with --run NAME, or begin again with --overwrite");
  }
  return wanted;
}

TrainingSummary train_run(const Settings& settings, ExistingRun existing) {
  check_data(settings);
  prepare_threads(settings.threads);
  const ComputePlan plan = plan_compute(settings.device, settings.training.precision);
  const fs::path folder = settings.runs / settings.run;
  const bool goes_on = existing == ExistingRun::resume && is_run(folder);
  const bool begun = goes_on && !list_checkpoints(folder / "checkpoints").empty();
  std::optional<ModelSource> source;
  if (!settings.model.from.empty() && !begun) source = open_model_source(settings.model.from);
  std::optional<fs::path> stored;
  if (goes_on) stored = folder;
  const OpenedTask opened =
      settings.task == TaskKind::glue
          ? open_glue_task(settings, plan, source ? &*source : nullptr, stored)
          : open_language_task(settings, plan);
  std::string start;
  if (source) {
    compare_tokenizers(*source,
                       opened.dataset ? opened.dataset->tokenizer() : *opened.tokenizer);
    if (settings.model.from_weights) {
      start = start_from(*source, settings, opened.task->parameters());
    } else {
      start = source->folder.string() + ": its shape and tokenizer, with new weights";
    }
  }
  source.reset();
  TrainingTask* const task = opened.task.get();
  const RunDirectory run(settings.runs / settings.run, existing);
  if (!run.resumed()) {
    nlohmann::json record = run_record(
        {.version = kVersion, .commit = kCommit, .command = command_line(), .data = opened.data});
    record["precision"] = plan.precision == Precision::bf16 ? "bf16" : "fp32";
    record["precision_reason"] = plan.reason;
    write_file_atomically(run.record(), record.dump(2) + "\n");
    task->save_assets(run.path().string());
  }
  write_file_atomically(run.config(), dump(settings, DumpStyle::compact));
  log::info("{}: {} parameters, position {}, {} ({}), {} threads", run.path().string(),
            format_count(task->parameters().count()), settings.position.scheme,
            plan.precision == Precision::bf16 ? "bf16" : "fp32", plan.reason,
            at::get_num_threads());
  if (!start.empty()) log::info("{}", start);
  return train(*task, {.settings = settings.training, .seed = settings.seed, .run = run});
}

}  // namespace roformer
