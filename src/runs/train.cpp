#include "runs/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "base/command_line.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/sealed_json.h"
#include "base/sealed_lines.h"
#include "base/version.h"
#include "config/dump.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/position_remarks.h"
#include "config/problems.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "runs/memory_estimate.h"
#include "runs/model_source.h"
#include "tasks/registry.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"
#include "training/checkpoint.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool makes_its_data(const Settings& settings) {
  return task_facts(settings.task).data == TaskData::generated;
}

void check_data(const Settings& settings) {
  if (!settings.data.directory.empty() || makes_its_data(settings)) return;
  throw_usage("data.directory", "nothing to train on",
              std::string(task_facts(settings.task).data_hint));
}

std::string precision_name(const ComputePlan& plan) {
  return plan.precision == Precision::bf16 ? "bf16" : "fp32";
}

// The run.json of a run; null where it was stopped before that was written.
nlohmann::json read_record(const fs::path& run) {
  const fs::path file = run / "run.json";
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  nlohmann::json record = read_sealed_json(file);
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
  if (words == "fingerprints") words.pop_back();
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

// Other data, or the same in another precision, would go on silently with other numbers.
void compare_with_record(const nlohmann::json& record, const nlohmann::json& data,
                         const Settings& settings, const ComputePlan& plan) {
  const nlohmann::json begun = record.value("data", nlohmann::json::object());
  for (const auto& [field, now] : data.items()) {
    if (field == "folder" || field == "name") continue;  // data may be moved
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
  if (!precision.is_string() || precision == precision_name(plan)) return;
  if (settings.training.precision != Precision::automatic) {  // it was asked for
    log::warn("the run was begun in {} and goes on in {}", precision.get<std::string>(),
              precision_name(plan));
    return;
  }
  throw_usage("training.precision",
              fmt::format("the run was begun in {}, here it would go on in {} ({})",
                          precision.get<std::string>(), precision_name(plan), plan.reason),
              "go on with the device of its beginning, or say --training.precision with --resume");
}

// A run without a checkpoint begins again, and from the weights that its record names.
void compare_source(const nlohmann::json& record, const nlohmann::json& data,
                    const Settings& settings) {
  const nlohmann::json::json_pointer pointer("/data/from_fingerprint");
  if (!record.contains(pointer) || record[pointer] == data["from_fingerprint"]) return;
  throw_usage("model.from",
              fmt::format("{} holds other weights than when the run was begun",
                          settings.model.from.string()),
              "start another run with --run NAME, or --overwrite this one");
}

std::string shown(const std::string& value) {
  return value.empty() ? "empty" : value;
}

// The file is there to name the run; that it says something else should not go unnoticed.
void warn_of_file(const fs::path& file, const GivenValues& given, const Settings& stored) {
  for (const std::string& name : given.keys) {
    const Key& key = *find_key(name);
    const bool idle = !key.scheme().empty() && !uses_scheme(stored.position, key.scheme());
    const std::string here = key.get(given.settings), there = key.get(stored);
    if (name == "run" || name == "runs" || idle || here == there) continue;
    log::warn("{}: {} is {} in the stored run and {} here; the stored value holds{}", file.string(),
              name, shown(there), shown(here),
              may_change_when_resumed(key, stored) ? ", --" + name + " changes it" : std::string());
  }
}

// All flags that a continuation cannot follow.
void refuse_changes(const Settings& stored, const Settings& wanted) {
  Problems problems;
  for (const std::string& name : diff(stored, wanted)) {
    const Key& key = *find_key(name);
    if (may_change_when_resumed(key, stored)) continue;
    problems.add({.where = "--" + name,
                  .key = name,
                  .message = fmt::format("is {} in the stored run, got {}", shown(key.get(stored)),
                                         shown(key.get(wanted))),
                  .hint = "leave it out, start another run with --run NAME, or begin again with "
                          "--overwrite"});
  }
  problems.throw_if_any();
}

}  // namespace

bool may_change_when_resumed(const Key& key, const Settings& stored) {
  constexpr std::array kOfSpeed = {"decoding.batch_tokens", "decoding.alignment_layer"};
  const TranslationRanking by = stored.translation.ranked_by;
  const bool decoded = by == TranslationRanking::bleu || by == TranslationRanking::chrf;
  const bool ranks = task_facts(stored.task).translates && decoded &&
                     key.name.starts_with("decoding.") &&
                     std::ranges::find(kOfSpeed, key.name) == kOfSpeed.end();
  return key.may_change() && !ranks;
}

Settings read_run_settings(const fs::path& run_or_checkpoint) {
  const fs::path file = run_or_checkpoint / "config.yaml";
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw_failure(run_or_checkpoint.string(), "is no run and no checkpoint: it has no config.yaml",
                  "give the folder that `roformer train` made, for instance runs/quickstart");
  }
  check_sealed_lines(file);
  return load_settings(file);
}

Settings resumed_settings(const fs::path& file, const std::vector<Override>& flags) {
  const GivenValues given = load_values(file, flags);
  const fs::path run = given.settings.runs / given.settings.run;
  recover_run(run);
  require_run(run);
  std::vector<Override> changes;
  for (const Override& flag : flags) {  // the run's place is known, whatever it was called before
    if (flag.key != "run" && flag.key != "runs") changes.push_back(flag);
  }
  const fs::path config = run / "config.yaml";
  if (std::error_code error; fs::file_size(config, error) == 0) {
    throw_failure(config.string(), "is empty, and so damaged",
                  "each of the run's checkpoints has a copy");
  }
  refuse_changes(read_run_settings(run), load_values(config, changes).settings);
  Settings settings = load_settings(config, changes);
  warn_of_file(file, given, settings);
  settings.run = given.settings.run;
  settings.runs = given.settings.runs;
  return settings;
}

namespace {

// What must be the same in all processes, a line each; paths may differ between machines.
std::vector<std::string> common_facts(const Settings& settings, const nlohmann::json& data,
                                      const ComputePlan& plan) {
  std::vector<std::string> facts{fmt::format("version {} ({})", kVersion, kCommit),
                                 "precision " + precision_name(plan)};
  for (const Key& key : schema()) {
    if (key.type != KeyType::path) facts.push_back(key.name + " " + key.get(settings));
  }
  for (const auto& [field, value] : data.items()) {
    if (field != "folder" && field != "name") facts.push_back("data " + field + " " + value.dump());
  }
  return facts;
}

void compare_processes(const Settings& settings, const nlohmann::json& data,
                       const ComputePlan& plan, Processes& processes) {
  if (processes.alone()) return;
  const std::vector<std::string> own = common_facts(settings, data, plan);
  const auto all = gather_texts(processes, nlohmann::json(own).dump());
  const auto first = nlohmann::json::parse(all.front()).get<std::vector<std::string>>();
  for (std::size_t r = 1; r < all.size(); ++r) {
    const auto other = nlohmann::json::parse(all[r]).get<std::vector<std::string>>();
    for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      if (first[i] == other[i]) continue;
      throw_usage(
          "several processes",
          fmt::format("process 0 has {}, process {} has {}", shown(first[i]), r, shown(other[i])),
          "start all of them with the same program, configuration and data");
    }
  }
}

void check_processes(const Settings& settings, const ComputePlan& plan,
                     const Processes& processes) {
  if (processes.alone()) {
    if (!settings.training.shard_optimizer || plan.device.is_cpu()) return;
    throw_usage("training.shard_optimizer", "is for several processes on CPUs");
  }
  if (plan.device.is_cpu()) return;
  if (settings.training.shard_optimizer) {
    throw_usage("training.shard_optimizer", "is for processes on CPUs",
                "--training.shard_optimizer false, or --device cpu");
  }
  if (settings.training.reduce == GradientReduction::deterministic) {
    throw_usage("training.reduce", "deterministic is for one process, or several on CPUs",
                "--training.reduce fast, or --device cpu");
  }
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

// Micro-batches of a step, of all processes.
std::int64_t micro_batches(const Settings& settings, const nlohmann::json& begun_with,
                           const Processes& processes) {
  const std::int64_t begun_by =
      begun_with.is_null() ? processes.count() : begun_with.value("processes", std::int64_t{1});
  const std::int64_t all = settings.training.accumulation * begun_by;
  if (all % processes.count() == 0) return all;
  throw_usage("training.accumulation",
              fmt::format("a step of this run has {} micro-batches, which {} processes cannot "
                          "share evenly",
                          all, processes.count()),
              fmt::format("go on with a number of processes that divides {}", all));
}

// Threads of each process: all cores are shared by those of a machine.
std::int64_t threads_of_each(const Settings& settings, const Processes& processes) {
  if (settings.threads > 0 || processes.local_count() == 1) return settings.threads;
  const std::int64_t cores = std::thread::hardware_concurrency();
  return std::max<std::int64_t>(1, cores / processes.local_count());
}

// Says before the first step what the memory may not hold, and leaves in `needed` what is needed.
void look_at_memory(const Settings& settings, TrainingTask& task, const ComputePlan& plan,
                    const Processes& processes, std::string& needed) {
  const std::int64_t parameters = task.parameters().count();
  const double tokens = task.tokens_per_batch();
  const MemoryEstimate estimate =
      estimate_memory(settings, parameters, tokens, plan, processes.count());
  needed = describe(estimate, parameters, tokens);
  const auto here = static_cast<std::uint64_t>(processes.local_count());
  if (here > 1) needed += fmt::format(" in each of {} processes of this machine", here);
  const std::uint64_t available = available_memory();
  if (!plan.device.is_cpu() || available == 0 || here * estimate.total() <= available) return;
  log::warn("the training takes {}, and {} are free; {}", needed, format_bytes(available),
            memory_remedies(settings));
}

TrainingSummary train_in(const Settings& settings, ExistingRun existing, const ComputePlan& plan,
                         Processes& processes, std::string& needed) {
  const fs::path folder = settings.runs / settings.run;
  const bool goes_on = existing == ExistingRun::resume && is_run(folder);
  const bool begun = goes_on && !list_checkpoints(folder / "checkpoints").empty();
  const nlohmann::json begun_with = goes_on ? read_record(folder) : nlohmann::json();
  if (begun_with.is_object() && begun_with.contains("/data/average_of"_json_pointer)) {
    throw_usage(
        folder.string(), "is an average of checkpoints, which cannot be trained further",
        "--resume the run that they are of, or start from it: --model.from " + folder.string());
  }
  std::error_code error;
  if (goes_on && !makes_its_data(settings) && !fs::exists(settings.data.directory, error)) {
    throw_failure(settings.data.directory.string(), "the data of the run are not there",
                  "say where they are: --data.directory FOLDER");
  }
  if (begun) refuse_shorter(settings, folder);
  std::optional<ModelSource> source;
  if (!settings.model.from.empty() && !begun) source = open_model_source(settings.model.from);
  TaskSources sources{.settings = settings, .plan = plan};
  if (begun || !begun_with.is_null()) sources.stored = folder;
  if (source) sources.offered = source->tokenizer;
  const OpenedTask opened = open_task(sources);
  if (!begun_with.is_null()) compare_with_record(begun_with, opened.data, settings, plan);
  check_processes(settings, plan, processes);
  if (!plan.device.is_cpu() && settings.training.reduce == GradientReduction::deterministic) {
    make_gpu_deterministic();
  }
  nlohmann::json data = opened.data;
  if (source) data["from_fingerprint"] = model_source_fingerprint(settings.model.from);
  if (!begun_with.is_null() && source) compare_source(begun_with, data, settings);
  compare_processes(settings, data, plan, processes);
  const std::string way =
      plan.device.is_cuda() ? processes.use_gpu(gpu::card_identity(plan.device)) : "";
  const std::int64_t batches_of_step = micro_batches(settings, begun_with, processes);
  std::string start;
  if (source) {
    if (settings.model.from_weights) {
      start = start_from(*source, settings, opened.task->parameters());
    } else {
      start = source->folder.string() + ": its shape and tokenizer, with new weights";
    }
    compare_tokenizers(*source, *opened.tokenizer);
  }
  source.reset();
  TrainingTask* const task = opened.task.get();
  const auto begin_record = [&](const RunDirectory& run) {
    // The configuration makes the folder a run and the record completes it: one that is killed
    // between the two is begun anew by --resume.
    write_file_atomically(run.config(), sealed_lines(dump(settings, DumpStyle::compact)));
    if (begun_with.is_null()) {
      task->save_assets(run.path().string());
      nlohmann::json record = run_record(
          {.version = kVersion, .commit = kCommit, .command = command_line(), .data = data});
      record["precision"] = precision_name(plan);
      record["precision_reason"] = plan.reason;
      record["device"] = device_name(plan.device);
      record["processes"] = processes.count();
      write_sealed_json(run.record(), record);
    }
  };
  // Before the first changes anything there, all have seen the folder as it was.
  meet(processes);
  const RunDirectory run = processes.first() ? RunDirectory(folder, existing)
                                             : RunDirectory::of_first_process(folder, existing);
  if (processes.first()) begin_record(run);
  log::info("{}: {} parameters, position {}, {} ({}), {}{}", run.path().string(),
            format_count(task->parameters().count()), settings.position.scheme,
            precision_name(plan), plan.reason,
            processes.alone() ? "" : fmt::format("{} processes of ", processes.count()),
            format_counted(at::get_num_threads(), "thread"));
  if (!way.empty()) log::info("gradients of the GPUs go {}", way);
  if (!start.empty()) log::info("{}", start);
  for (const std::string& remark : position_remarks(settings)) log::warn("{}", remark);
  look_at_memory(settings, *task, plan, processes, needed);
  return train(*task, {.settings = settings.training,
                       .stages = settings.stages,
                       .seed = settings.seed,
                       .run = run,
                       .prefetch = {.threads = settings.data.loader_threads,
                                    .depth = settings.data.prefetch},
                       .processes = &processes,
                       .micro_batches = batches_of_step});
}

}  // namespace

TrainingSummary train_run(const Settings& settings, ExistingRun existing, Processes& processes) {
  check_data(settings);
  prepare_threads(threads_of_each(settings, processes));
  std::string needed;
  try {
    ComputePlan plan =
        plan_compute(settings.device, settings.training.precision, settings.model.width);
    if (plan.device.is_cuda()) plan.device = take_gpu(processes.local_rank());
    return train_in(settings, existing, plan, processes, needed);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::optional<std::string> lack = lack_of_memory(error);
    if (!lack) throw;
    throw_failure((settings.runs / settings.run).string(),
                  needed.empty() ? *lack : fmt::format("{}; the training takes {}", *lack, needed),
                  memory_remedies(settings));
  }
}

TrainingSummary train_run(const Settings& settings, ExistingRun existing) {
  return train_run(settings, existing, *make_single_process());
}

}  // namespace roformer
