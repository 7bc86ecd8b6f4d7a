#include "runs/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/checksums.h"
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
#include "runs/export_prospect.h"
#include "runs/memory_estimate.h"
#include "runs/model_source.h"
#include "runs/process_agreement.h"
#include "runs/resume.h"
#include "runs/step_rows.h"
#include "runs/stored_weights.h"
#include "tasks/task_definition.h"
#include "tasks/untrained.h"
#include "tensor/attention_record.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"
#include "training/checkpoint.h"
#include "training/step_account.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

void check_data(const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  const bool generated = facts.data == TaskData::generated, given = !data_path(settings).empty();
  if (generated && given) {
    throw_usage("data.directory", "a probe makes its own examples", "leave it out");
  }
  if (given || generated) return;
  throw_usage(std::string(data_key(settings)), "nothing to train on", std::string(facts.data_hint));
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

// Compares the configuration with the list of weights before it builds a model, because the
// configuration alone may claim any size. Ignores a damaged checkpoint: resume() falls back to the
// previous one.
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

// The model's keys that differ from those of the model that it starts from, such as a dropout of 0
// in a recipe. start_from() reports another scheme.
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

// Takes the weights of another model if model.from asks for them. Returns lines that say what it
// took.
std::vector<std::string> take_from(const ModelSource& source, const Settings& settings,
                                   const OpenedTask& opened) {
  compare_tokenizers(source, *opened.tokenizer);
  std::vector<std::string> lines = changes_of(source, settings);
  lines.push_back(settings.model.from_weights
                      ? start_from(source, settings, opened.task->parameters())
                      : source.folder.string() + ": its shape and tokenizer, with new weights");
  return lines;
}

// The configuration makes the folder a run and the record completes it. If the process is killed
// between the two, --resume starts the run from the beginning. A resumed run stores its changed
// keys here; its record stays as it was begun.
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
  record[kBatchOf] = kBatchOfStep;
  return record;
}

// Adds to the run's record what the attention of its steps took. A run of several processes of the
// program, one after the other, has what all of them took.
void record_attention(const RunDirectory& run) {
  const AttentionRecord taken = take_attention_record();
  if (taken.forward.empty()) return;  // no step was left, or the model has no attention
  nlohmann::json record = read_checksummed_json(run.path() / "run.json");
  const nlohmann::json before = record.value("attention", nlohmann::json::object());
  std::string forward = before.value("forward", "");
  for (const std::string& use : taken.forward) {
    const bool known = (", " + forward + ", ").find(", " + use + ", ") != std::string::npos;
    if (!known) forward += (forward.empty() ? "" : ", ") + use;
  }
  const bool fast = taken.gradient == "fast" || before.value("gradient", "") == "fast";
  record["attention"] = {
      {"forward", forward}, {"gradient", fast ? "fast" : "exact"}, {"sums", "fp32"}};
  write_checksummed_json(run.record(), record);
}

// Returns a description of the needed memory. Throws Error (failure) if it exceeds the free memory:
// the system would kill the training, or other programs, without a message. The model is already
// allocated; activations and moments are not.
// `parts`: processes that divide a micro-batch.
std::string check_memory(const Settings& settings, TrainingTask& task, const ComputePlan& plan,
                         const Processes& processes, std::int64_t parts) {
  const std::int64_t parameters = task.parameters().count();
  const double tokens = task.tokens_per_batch() / static_cast<double>(parts);
  const MemoryEstimate estimate =
      estimate_memory(settings, parameters, tokens, plan, processes.count(),
                      numbers_of_muon(settings.training, task.parameters()));
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

// Throws Error (failure) in place of an error that a lack of memory caused. `needed`: a description
// of the training's memory, "" if it is not known yet.
void refuse_lack_of_memory(const std::exception& error, const Settings& settings,
                           const std::string& needed) {
  const std::optional<std::string> lack = lack_of_memory(error);
  if (!lack) return;
  throw_failure((settings.runs / settings.run).string(),
                needed.empty() ? *lack : fmt::format("{}; the training takes {}", *lack, needed),
                memory_remedies(settings));
}

// Everything that a training reads before it writes.
struct TrainingInputs {
  Continuation continuation;
  OpenedTask opened;
  std::int64_t micro_batches = 0;     // in one step, over all processes
  nlohmann::json data;                // for run.json
  std::optional<ModelSource> source;  // opened for model.from if the run has no checkpoints
};

TrainingInputs open_inputs(const Settings& settings, ExistingRun existing, const ComputePlan& plan,
                           const Processes& processes) {
  const fs::path folder = settings.runs / settings.run;
  const Continuation continuation = look_at_run(settings, existing);
  const std::int64_t micro_batches = micro_batches_of_step(continuation, settings, processes);
  std::optional<ModelSource> source;
  if (!settings.model.from.empty() && !continuation.has_checkpoints) {
    source = open_model_source(settings.model.from);
  }
  TaskSources sources{.settings = settings, .plan = plan};
  if (continuation.has_checkpoints || continuation.is_recorded()) sources.stored = folder;
  if (source) sources.offered = source->tokenizer;
  if (continuation.has_checkpoints) require_own_parameters(settings, folder);
  OpenedTask opened = open_task(sources);
  nlohmann::json data = opened.data;
  if (source) {
    data["from_fingerprint"] = model_source_fingerprint(settings.model.from);
    data["from_length"] = longest_row(source->settings);
    if (settings.model.from_weights) warn_of_short_start(settings, data["from_length"]);
  }
  require_same(continuation, data, settings, plan);
  return {continuation, std::move(opened), micro_batches, std::move(data), std::move(source)};
}

// Returns how gradients travel between GPUs, in words; "" on CPUs.
std::string agree(const Settings& settings, const TrainingInputs& run, const ComputePlan& plan,
                  Processes& processes) {
  check_processes(settings, plan, processes);
  if (!plan.device.is_cpu() && settings.training.reduce == GradientReduction::deterministic) {
    make_gpu_deterministic();
  }
  compare_processes(settings, run.data, plan, processes);
  return plan.device.is_cuda() ? processes.use_gpu(gpu::card_identity(plan.device)) : "";
}

RunDirectory claim_folder(const Settings& settings, ExistingRun existing, Processes& processes) {
  barrier(processes);  // all processes have seen the folder before the first one changes it
  const fs::path folder = settings.runs / settings.run;
  return processes.first() ? RunDirectory(folder, existing)
                           : RunDirectory::of_first_process(folder, existing);
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
  TrainingInputs inputs = open_inputs(settings, existing, plan, processes);
  TrainingTask& task = *inputs.opened.task;
  const std::string way = agree(settings, inputs, plan, processes);
  std::vector<std::string> start;
  if (inputs.source) start = take_from(*inputs.source, settings, inputs.opened);
  inputs.source.reset();  // frees its large weights
  const RunDirectory run = claim_folder(settings, existing, processes);
  std::string needed;
  const auto end_with = [&](const std::exception& error) {
    run.log_end(error);
    if (processes.first()) run.withdraw();
  };
  take_attention_record();  // of trainings before
  try {
    if (processes.first()) {
      begin_record(run, settings, inputs.continuation, task,
                   record_of(inputs.data, plan, processes));
    }
    say_beginning(run, settings, task, plan, processes);
    if (!way.empty()) log::info("gradients of the GPUs go {}", way);
    for (const std::string& line : start) log::info("{}", line);
    needed = check_memory(
        settings, task, plan, processes,
        share_of_step(inputs.micro_batches, processes.rank(), processes.count()).parts);
    TrainingSummary summary = train(task, {.settings = settings.training,
                                           .stages = settings.stages,
                                           .seed = settings.seed,
                                           .ranking = ranking_of(settings),
                                           .run = run,
                                           .prefetch = {.threads = settings.data.loader_threads,
                                                        .depth = settings.data.prefetch},
                                           .processes = &processes,
                                           .micro_batches = inputs.micro_batches});
    if (processes.first()) record_attention(run);
    return summary;
  } catch (const Diverged& error) {  // divergence is a result too, so the run is kept
    run.log_end(error);
    if (processes.first()) record_attention(run);
    throw;
  } catch (const Error& error) {
    end_with(error);
    throw;
  } catch (const std::exception& error) {
    end_with(error);
    refuse_lack_of_memory(error, settings, needed);
    throw;
  }
}

}  // namespace

TrainingSummary train_run(const Settings& given, ExistingRun existing, Processes& processes) {
  check_data(given);
  const TaskDefinition& task = task_definition(given.task);
  const Settings settings = task.complete == nullptr ? given : task.complete(given);
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

Table stage_table(const Settings& settings, const TrainingSummary& summary) {
  const NumberFormat count{NumberFormat::Style::count, 0}, loss{NumberFormat::Style::fixed, 3},
      share{NumberFormat::Style::percent, 1};
  const std::string longest = fmt::format(" at {}", settings.data.length);
  Table table({{.title = "stage", .format = count},
               {.title = "length", .format = count},
               {.title = "rows of a step", .format = count},
               {.title = "steps", .format = count},
               {.title = "loss", .format = loss},
               {.title = "accuracy", .unit = "%", .format = share},
               {.title = "loss" + longest, .format = loss},
               {.title = "accuracy" + longest, .unit = "%", .format = share}});
  std::int64_t end = 0;
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    const StageSettings& stage = settings.stages[i];
    end += stage.steps;
    const auto found = std::ranges::find(summary.validations, end, &ValidationRecord::step);
    if (found == summary.validations.end()) continue;
    const auto& figures = found->figures;
    const std::int64_t length = stage.length.value_or(settings.data.length);
    const std::string at =
        length == settings.data.length ? "" : fmt::format("_at_length_{}", length);
    table.add_row({static_cast<std::int64_t>(i + 1), length,
                   stage.batch.value_or(settings.training.batch) *
                       stage.accumulation.value_or(settings.training.accumulation),
                   stage.steps, figures.at("loss" + at), figures.at("accuracy" + at),
                   figures.at("loss"), figures.at("accuracy")});
  }
  return table;
}

}  // namespace roformer
