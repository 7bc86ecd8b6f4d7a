#include "tasks/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

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
#include "tasks/language_task.h"
#include "tensor/device.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

void check_data(const Settings& settings) {
  if (settings.data.directory.empty()) {
    throw_usage("data.directory", "nothing to train on",
                "make a data set with `roformer data prepare`, then --data.directory FOLDER");
  }
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
  const Dataset dataset(settings.data.directory);
  const std::unique_ptr<TrainingTask> task = make_language_task(settings, dataset, plan);
  const RunDirectory run(settings.runs / settings.run, existing);
  if (!run.resumed()) {
    const nlohmann::json data = {
        {"folder", settings.data.directory.string()},
        {"name", dataset.description().name},
        {"fingerprint", hex(dataset.description().fingerprint)},
        {"tokenizer_fingerprint", hex(dataset.description().tokenizer_fingerprint)}};
    nlohmann::json record = run_record(
        {.version = kVersion, .commit = kCommit, .command = command_line(), .data = data});
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
  return train(*task, {.settings = settings.training, .seed = settings.seed, .run = run});
}

}  // namespace roformer
