#include "runs/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/checksummed_json.h"
#include "base/checksummed_lines.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/origin.h"
#include "base/progress.h"
#include "config/dump.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "runs/continuation.h"
#include "runs/export_prospect.h"
#include "runs/memory_estimate.h"
#include "runs/model_source.h"
#include "runs/process_agreement.h"
#include "runs/stored_weights.h"
#include "runs/untrained.h"
#include "tasks/registry.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"
#include "training/checkpoint.h"
#include "training/divergence.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

void check_data(const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  const bool generated = facts.data == TaskData::generated,
             given = !settings.data.directory.empty();
  if (generated && given) {
    throw_usage("data.directory", "a probe makes its own examples", "leave it out");
  }
  if (given || generated) return;
  throw_usage("data.directory", "nothing to train on", std::string(facts.data_hint));
}

bool is_damaged(const fs::path& checkpoint) {
  try {
    require_whole(checkpoint);
    return false;
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {
    return true;
  }
}

// Of the run that goes on, before a model is built that its configuration may claim and its weights
// are not of. A damaged checkpoint is for resume(), which goes back to the one before it.
void require_own_parameters(const Settings& settings, const fs::path& run) {
  const std::vector<fs::path> all = list_checkpoints(run / "checkpoints");
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint) {
    try {
      return require_parameters(settings, stored_vocabularies(settings, *checkpoint),
                                Safetensors(weights_file(*checkpoint, WeightsKind::raw)));
    } catch (const ReadError&) {
      throw;
    } catch (const Error&) {
      if (!is_damaged(*checkpoint)) throw;
    }
  }
}

// Where the configuration computes otherwise than the model that it starts from: a dropout of 0
// that a recipe has, say, over the model's. The scheme is told with the weights.
std::vector<std::string> changes_of(const ModelSource& source, const Settings& settings) {
  std::vector<std::string> lines;
  for (const std::string& name : diff(source.settings, settings)) {
    if (!is_of_model(name)) continue;
    const Key& key = *find_key(name);
    lines.push_back(fmt::format("{} is {} here, {} in {}", name, key.get(settings),
                                key.get(source.settings), source.folder.string()));
  }
  return lines;
}

// What the new model takes of another; returns the lines that say so.
std::vector<std::string> take_from(const ModelSource& source, const Settings& settings,
                                   const OpenedTask& opened) {
  compare_tokenizers(source, *opened.tokenizer);
  std::vector<std::string> lines = changes_of(source, settings);
  lines.push_back(settings.model.from_weights
                      ? start_from(source, settings, opened.task->parameters())
                      : source.folder.string() + ": its shape and tokenizer, with new weights");
  return lines;
}

// The configuration makes the folder a run and the record completes it: one that is killed between
// the two is begun anew by --resume.
void begin_record(const RunDirectory& run, const Settings& settings,
                  const Continuation& continuation, const TrainingTask& task,
                  const nlohmann::json& record) {
  write_file_atomically(run.config(), checksummed_lines(dump(settings, DumpStyle::compact)));
  if (continuation.is_recorded()) return;
  task.save_assets(InnerPath::named(run.path()));
  write_checksummed_json(run.record(), record);
}

nlohmann::json record_of(const nlohmann::json& data, const ComputePlan& plan,
                         const Processes& processes) {
  nlohmann::json record = run_record(this_program(), data);
  record["precision"] = to_word(plan.precision);
  record["precision_reason"] = plan.reason;
  record["device"] = device_name(plan.device);
  record["processes"] = processes.count();
  return record;
}

// Returns what is needed. Throws Error (failure) before the first step where that is more than is
// free: the system would end the training, or other programs, without a word. The model is there by
// now: it is the activations and the moments that are still to come.
std::string look_at_memory(const Settings& settings, TrainingTask& task, const ComputePlan& plan,
                           const Processes& processes) {
  const std::int64_t parameters = task.parameters().count();
  const double tokens = task.tokens_per_batch();
  const MemoryEstimate estimate =
      estimate_memory(settings, parameters, tokens, plan, processes.count());
  std::string needed = describe(estimate, parameters, tokens);
  const auto here = static_cast<std::uint64_t>(processes.local_count());
  if (here > 1) needed += fmt::format(" in each of {} processes of this machine", here);
  const std::uint64_t available = available_memory();
  if (!plan.device.is_cpu() || available == 0 || here * estimate.total() <= available) {
    return needed;
  }
  const std::string lack =
      fmt::format("the training takes {}, and {} are free", needed, format_bytes(available));
  if (!settings.training.exceed_memory) {
    throw_failure(
        (settings.runs / settings.run).string(), lack,
        memory_remedies(settings) + "; --training.exceed_memory true tries it all the same");
  }
  log::warn("{}; {}", lack, memory_remedies(settings));
  return needed;
}

// Throws Error (failure) in the place of an error that came of a lack of memory. `needed`: by the
// training, "" where that is not known yet.
void refuse_lack_of_memory(const std::exception& error, const Settings& settings,
                           const std::string& needed) {
  const std::optional<std::string> lack = lack_of_memory(error);
  if (!lack) return;
  throw_failure((settings.runs / settings.run).string(),
                needed.empty() ? *lack : fmt::format("{}; the training takes {}", *lack, needed),
                memory_remedies(settings));
}

void say_beginning(const RunDirectory& run, const Settings& settings, TrainingTask& task,
                   const ComputePlan& plan, const Processes& processes) {
  log::info("{}: {} parameters, position {}, {} ({}), {}{}", run.path().string(),
            format_count(task.parameters().count()), settings.position.scheme,
            to_word(plan.precision), plan.reason,
            processes.alone() ? "" : fmt::format("{} processes of ", processes.count()),
            format_counted(at::get_num_threads(), "thread"));
  for (const std::string& remark : position_remarks(settings)) log::warn("{}", remark);
  if (const std::string exports = export_line(settings); !exports.empty()) {
    log::info("{}", exports);
  }
}

TrainingSummary train_in(const Settings& settings, ExistingRun existing, const ComputePlan& plan,
                         Processes& processes) {
  const fs::path folder = settings.runs / settings.run;
  const Continuation continuation = look_at_run(settings, existing);
  std::optional<ModelSource> source;
  if (!settings.model.from.empty() && !continuation.has_checkpoints) {
    source = open_model_source(settings.model.from);
  }
  TaskSources sources{.settings = settings, .plan = plan};
  if (continuation.has_checkpoints || continuation.is_recorded()) sources.stored = folder;
  if (source) sources.offered = source->tokenizer;
  if (continuation.has_checkpoints) require_own_parameters(settings, folder);
  const OpenedTask opened = open_task(sources);
  nlohmann::json data = opened.data;
  if (source) {
    data["from_fingerprint"] = model_source_fingerprint(settings.model.from);
    data["from_length"] = longest_row(source->settings);
    if (settings.model.from_weights) warn_of_short_start(settings, data["from_length"]);
  }
  require_same(continuation, data, settings, plan);
  check_processes(settings, plan, processes);
  if (!plan.device.is_cpu() && settings.training.reduce == GradientReduction::deterministic) {
    make_gpu_deterministic();
  }
  compare_processes(settings, data, plan, processes);
  const std::string way =
      plan.device.is_cuda() ? processes.use_gpu(gpu::card_identity(plan.device)) : "";
  const std::int64_t micro_batches = micro_batches_of_step(continuation, settings, processes);
  std::vector<std::string> start;
  if (source) start = take_from(*source, settings, opened);
  source.reset();
  // Before the first changes anything there, all have seen the folder as it was.
  meet(processes);
  const RunDirectory run = processes.first() ? RunDirectory(folder, existing)
                                             : RunDirectory::of_first_process(folder, existing);
  std::string needed;
  try {
    if (processes.first()) {
      begin_record(run, settings, continuation, *opened.task, record_of(data, plan, processes));
    }
    say_beginning(run, settings, *opened.task, plan, processes);
    if (!way.empty()) log::info("gradients of the GPUs go {}", way);
    for (const std::string& line : start) log::info("{}", line);
    needed = look_at_memory(settings, *opened.task, plan, processes);
    return train(*opened.task, {.settings = settings.training,
                                .stages = settings.stages,
                                .seed = settings.seed,
                                .ranking = ranking_of(settings),
                                .run = run,
                                .prefetch = {.threads = settings.data.loader_threads,
                                             .depth = settings.data.prefetch},
                                .processes = &processes,
                                .micro_batches = micro_batches});
  } catch (const Diverged& error) {
    run.log_end(error);
    throw;  // a result, too
  } catch (const Error& error) {
    run.log_end(error);
    if (processes.first()) run.withdraw();
    throw;
  } catch (const std::exception& error) {
    run.log_end(error);
    if (processes.first()) run.withdraw();
    refuse_lack_of_memory(error, settings, needed);
    throw;
  }
}

}  // namespace

TrainingSummary train_run(const Settings& settings, ExistingRun existing, Processes& processes) {
  check_data(settings);
  prepare_threads(threads_of_each(settings, processes));
  try {
    ComputePlan plan =
        plan_compute(settings.device, settings.training.precision, settings.model.width);
    if (plan.device.is_cuda()) plan.device = take_gpu(processes.local_rank());
    return train_in(settings, existing, plan, processes);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    refuse_lack_of_memory(error, settings, "");
    throw;
  }
}

TrainingSummary train_run(const Settings& settings, ExistingRun existing) {
  return train_run(settings, existing, *make_single_process());
}

}  // namespace roformer
