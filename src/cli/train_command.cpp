// `roformer train`: trains one configuration.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "config/load.h"
#include "runs/model_source.h"
#include "runs/stage_table.h"
#include "runs/train.h"

namespace roformer {
namespace {

struct TrainOptions {
  std::string config;
  bool resume = false;
  bool overwrite = false;
  std::vector<Override> overrides;
};

// Exit code of a program that a signal ended, as shells count it.

void print_summary(const Settings& settings, const TrainingSummary& summary) {
  const auto path = (settings.runs / settings.run).string();
  if (summary.reason == StopReason::signal) {
    fmt::print("{}: stopped by a signal at step {}; go on with --resume\n", path,
               format_count(summary.consumed.steps));
    return;
  }
  fmt::print("{}: {} steps, {} tokens in {} ({} tokens/s)\n", path,
             format_count(summary.consumed.steps), format_count(summary.consumed.tokens),
             format_duration(summary.consumed.minutes * 60),
             format_count(static_cast<std::int64_t>(summary.tokens_per_second)));
  if (!settings.stages.empty()) {
    fmt::print("\n{}\n", to_text(stage_table(settings, summary), {.width = terminal_width()}));
  }
  if (const ValidationRecord* best = summary.best()) {
    fmt::print("best validation, at step {}: {}\n", format_count(best->step),
               describe_figures(best->result, " "));
  }
}

void train_command(const TrainOptions& options) {
  ExistingRun existing = ExistingRun::refuse;
  if (options.overwrite) existing = ExistingRun::overwrite;
  if (options.resume) existing = ExistingRun::resume;
  const Settings settings =
      options.resume ? resumed_settings(options.config, options.overrides)
                     : load_settings(options.config, options.overrides, model_source_keys);
  const TrainingSummary summary = train_run(settings, existing);
  print_summary(settings, summary);
  if (summary.reason == StopReason::signal) throw CLI::RuntimeError(kSignalExit + summary.signal);
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = add_listed_command(
      program, "train", "Writes runs/NAME: the resolved configuration, metrics, checkpoints.");
  command->add_option("config", options->config, "configuration file (YAML)")->required();
  CLI::Option* resume = command->add_flag("--resume", options->resume,
                                          "go on from the last whole checkpoint, with the stored "
                                          "configuration and the flags given");
  command->add_flag("--overwrite", options->overwrite, "remove what an earlier run wrote")
      ->excludes(resume);
  accept_settings(*command, options->overrides);
  command->callback([options] { train_command(*options); });
}

}  // namespace roformer
