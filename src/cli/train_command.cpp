// `roformer train`: trains one configuration.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/shipped.h"
#include "cli/command.h"
#include "config/load.h"
#include "runs/model_source.h"
#include "runs/run_settings.h"
#include "runs/train.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct TrainOptions {
  std::string config;
  bool resumes = false;
  std::string resume;  // "" or "auto"
  bool overwrite = false;
  bool smoke = false;
  std::vector<Override> overrides;
};

void print_summary(const Settings& settings, const TrainingSummary& summary) {
  const auto path = (settings.runs / settings.run).string();
  if (summary.reason == StopReason::signal) {
    // Ignores errors: the terminal may be closed, but the run is saved.
    std::fputs(fmt::format("{}: stopped by a signal at step {}; continue with --resume\n", path,
                           format_count(summary.consumed.steps))
                   .c_str(),
               stdout);
    return;
  }
  // A run may end before its first window of steps.
  const double seconds = std::max(summary.consumed.minutes * 60, 1e-9);
  const double rate = summary.tokens_per_second > 0
                          ? summary.tokens_per_second
                          : static_cast<double>(summary.consumed.tokens) / seconds;
  fmt::print("{}: {}, {} in {} ({} tokens/s)\n", path,
             format_counted(summary.consumed.steps, "step"),
             format_counted(summary.consumed.tokens, "token"),
             format_duration(summary.consumed.minutes * 60),
             format_count(static_cast<std::int64_t>(rate)));
  if (summary.reason == StopReason::patience) {
    fmt::print(
        "stopped early: {} validations in a row brought nothing better "
        "(training.patience)\n",
        settings.training.patience);
  }
  if (!settings.stages.empty()) {
    fmt::print("\n{}\n", to_text(stage_table(settings, summary), for_terminal()));
  }
  if (const ValidationRecord* best = summary.best()) {
    // Puts the figure that ranks the checkpoints first.
    Figures others = best->figures, ranked;
    for (const std::string& name :
         {best->ranking.figure, best->ranking.figure + std::string(kStandardError)}) {
      if (auto figure = others.extract(name)) ranked.insert(std::move(figure));
    }
    fmt::print("best validation, at step {}: {} {}\n", format_count(best->step),
               describe_figures(ranked, " "), describe_figures(others, " "));
  }
}

// Compares the flags of all processes. Different ones would make processes wait for each other in
// different places.
void compare_starts(const TrainOptions& options, Processes& processes) {
  const std::string own = options.overwrite        ? "--overwrite"
                          : !options.resumes       ? "neither --resume nor --overwrite"
                          : options.resume.empty() ? "--resume"
                                                   : "--resume " + options.resume;
  const std::vector<std::string> all = gather_texts(processes, own);
  const auto other = std::ranges::find_if(all, [&](const auto& text) { return text != all[0]; });
  if (other == all.end()) return;
  throw_usage("several processes",
              fmt::format("process 0 was started with {}, process {} with {}", all[0],
                          other - all.begin(), *other),
              "start all of them with the same flags");
}

// The first process repairs the folder and decides for all, because it may already have begun the
// run when another process looks.
ExistingRun existing_run(const TrainOptions& options, const Settings& given, Processes& processes) {
  if (options.overwrite || options.smoke) return ExistingRun::overwrite;
  if (!options.resumes) return ExistingRun::refuse;
  const std::filesystem::path run = given.runs / given.run;
  if (processes.first()) recover_run(run);
  const std::string answer = text_of_first(processes, is_run(run) ? "goes on" : "begins");
  const bool begins = options.resume == "auto" && answer == "begins";
  return begins ? ExistingRun::refuse : ExistingRun::resume;
}

Settings new_settings(const TrainOptions& options) {
  std::vector<Override> flags = options.overrides;
  if (options.smoke) {
    const Settings whole = load_values(options.config, flags).settings;
    const std::vector<Override> shorter = smoke_flags(whole);
    flags.insert(flags.end(), shorter.begin(), shorter.end());
  }
  return load_settings(options.config, flags, model_source_keys);
}

// The summary of a run that ended before this command. Returns nothing if the run has not ended or
// the summary cannot be read; the trainer repairs it then.
std::optional<TrainingSummary> earlier_end(const Settings& settings, ExistingRun existing) {
  if (existing != ExistingRun::resume) return std::nullopt;
  try {
    return read_training_summary(settings.runs / settings.run);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Says that the command had nothing to do, so that it does not look as if it trained.
void say_ended_before(const Settings& settings, const TrainingSummary& summary) {
  const std::string run = (settings.runs / settings.run).string();
  if (summary.reason == StopReason::patience) {
    fmt::print("{}: was already ended by training.patience {}; --training.patience 0 continues\n",
               run, settings.training.patience);
    return;
  }
  const Period& steps = settings.training.steps;
  const std::string way = settings.stages.empty()
                              ? fmt::format("--training.steps {} continues",
                                            to_string(Period{2 * steps.amount, steps.unit}))
                              : fmt::format("--model.from {} starts another from its weights", run);
  fmt::print("{}: was finished already (training.steps {}); {}\n", run, to_string(steps), way);
}

// Returns the signal that stopped the training, or 0.
int train_beside(const TrainOptions& options, const Settings& given, Processes& processes) {
  compare_starts(options, processes);
  const ExistingRun existing = existing_run(options, given, processes);
  const Settings settings = existing == ExistingRun::resume
                                ? resumed_settings(options.config, options.overrides)
                                : new_settings(options);
  if (existing != ExistingRun::resume) refuse_idle_flags(settings, options.overrides);
  const std::optional<TrainingSummary> earlier =
      processes.first() ? earlier_end(settings, existing) : std::nullopt;
  const TrainingSummary summary = train_run(settings, existing, processes);
  if (earlier && earlier->reason == summary.reason && summary.reason != StopReason::signal &&
      earlier->consumed.steps == summary.consumed.steps) {
    say_ended_before(settings, summary);
  }
  if (processes.first()) print_summary(settings, summary);
  return summary.reason == StopReason::signal ? summary.signal : 0;
}

// For `train --resume --run NAME`: the stored file of the run; empty if no run is named. Throws
// Error (usage) if the run does not exist.
std::string stored_config(const TrainOptions& options) {
  std::filesystem::path runs = Settings().runs, run;
  for (const Override& flag : options.overrides) {
    if (flag.key == "run") run = flag.text;
    if (flag.key == "runs") runs = flag.text;
  }
  if (run.empty()) return "";
  if (read_launch().alone()) recover_run(runs / run);
  require_run(runs / run);
  return (runs / run / "config.yaml").string();
}

bool named_like_configuration(const std::filesystem::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// For `train runs/mine --resume`: replaces the folder by --runs and --run.
void take_folder(TrainOptions& options) {
  std::filesystem::path folder = std::filesystem::path(options.config).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (folder.filename() == "." || folder.filename() == "..") {
    folder = std::filesystem::canonical(folder);
  }
  if (!options.resumes) {
    throw_usage(options.config, "is a folder, wanted a configuration file",
                is_run(folder) ? "--resume continues the run in it"
                               : "for instance configs/quickstart.yaml");
  }
  for (const Override& flag : options.overrides) {
    if (flag.key == "run" || flag.key == "runs") {
      throw_usage("--" + flag.key, "got " + flag.text + " beside the run " + options.config,
                  "leave one of the two out");
    }
  }
  const std::filesystem::path runs = folder.parent_path();
  options.overrides.push_back({.key = "runs", .text = runs.empty() ? "." : runs.string()});
  options.overrides.push_back({.key = "run", .text = folder.filename().string()});
  options.config.clear();
}

void train_command(const TrainOptions& options) {
  const Launch launch = read_launch();
  const Settings given = load_values(options.config, options.overrides).settings;
  const auto timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * given.distributed.timeout));
  if (given.device != DeviceKind::cpu) gpu_support();  // opened before c10d can ask for a GPU
  const std::unique_ptr<Processes> processes =
      connect(launch, {.timeout = timeout, .job = "run " + given.run, .folder = given.runs});
  if (!processes->first()) spdlog::set_level(spdlog::level::err);
  int signal = 0;
  // Catches signals while data are loaded too. The trainer then sees the signal and tells the other
  // processes.
  std::optional<StopSignals> signals;
  if (!processes->alone()) signals.emplace();
  try {
    signal = train_beside(options, given, *processes);
  } catch (const std::exception& error) {
    processes->leave(error.what());
    throw;
  }
  if (signal != 0) throw CLI::RuntimeError(kSignalExit + signal);
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = add_listed_command(
      program, "train",
      "Writes runs/NAME: the resolved configuration, metrics, checkpoints.\n"
      "Several processes, one training (roformer doctor shows what each would do):\n"
      "  torchrun --no-python --nproc-per-node 4 -- roformer train CONFIG\n"
      "  mpirun -n 4 roformer train CONFIG\n"
      "  srun -n 4 roformer train CONFIG\n");
  CLI::Option* config =
      command->add_option("config", options->config,
                          "configuration file (YAML); with --resume also the folder of a run, or "
                          "nothing beside --run NAME");
  CLI::Option* resume =
      command
          ->add_option("--resume", options->resume,
                       "continue from the last intact checkpoint, with the stored configuration "
                       "and the flags given; auto: start a new run if there is none")
          ->expected(0, 1)
          ->type_name("[auto]");
  command->add_flag("--overwrite", options->overwrite, "remove what an earlier run wrote")
      ->excludes(resume);
  command
      ->add_flag("--smoke", options->smoke,
                 "try everything in two steps (of each stage), a short validation and a "
                 "checkpoint, as the run NAME-smoke, which it overwrites")
      ->excludes(resume);
  accept_settings(*command, options->overrides);
  command->callback([options, resume, config] {
    options->resumes = resume->count() > 0;
    const bool known = options->resume.empty() || options->resume == "auto";
    // In `train --resume CONFIG`, the word after the flag is the file.
    if (!known && config->count() == 0) options->config = std::exchange(options->resume, "");
    std::error_code error;
    if (std::filesystem::is_directory(options->config, error)) {
      take_folder(*options);
    } else if (options->resumes && !options->config.empty() &&
               !named_like_configuration(options->config) &&
               !std::filesystem::exists(located(options->config), error)) {
      throw_usage(options->config, "there is no such run", "`roformer runs list` shows those here");
    }
    if (options->config.empty() && options->resumes) options->config = stored_config(*options);
    if (options->config.empty()) throw CLI::RequiredError("config");
    if (!options->resume.empty() && options->resume != "auto") {
      throw_usage("--resume", "\"" + options->resume + "\" is not auto",
                  "leave the word out to go on with the run that is there");
    }
    train_command(*options);
  });
}

}  // namespace roformer
