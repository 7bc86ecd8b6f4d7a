// `roformer average`: makes one run from the average of several checkpoints.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "runs/new_run.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct AverageFlags {
  std::string run;
  std::int64_t last = 0;
  std::int64_t best = 0;
  std::string output;
  bool overwrite = false;
};

void average_command(const AverageFlags& flags) {
  const fs::path run = flags.run;
  AverageOptions options{.run = run,
                         .count = flags.best > 0   ? flags.best
                                  : flags.last > 0 ? flags.last
                                                   : 5,
                         .best = flags.best > 0,
                         .output = flags.output};
  if (options.output.empty()) {
    // The default is a folder beside the run, however the user names the run.
    options.output = (run / ".." / (folder_name(run) + "-average")).lexically_normal();
  }
  if (flags.overwrite) options.existing = ExistingRun::overwrite;
  const auto checkpoints = [&] {
    const ElapsedLine elapsed("averaging");
    return average_run(options);
  }();
  fmt::print("{}: the average of", options.output.string());
  for (const fs::path& folder : checkpoints) fmt::print(" {}", folder.filename().string());
  fmt::print("\n");
}

}  // namespace

void add_average_command(CLI::App& program) {
  auto flags = std::make_shared<AverageFlags>();
  CLI::App* command =
      add_listed_command(program, "average",
                         "roformer average runs/en-de --last 5\n"
                         "Makes a run, runs/en-de-average, that evaluates, translates and "
                         "exports as any other.\n");
  command->add_option("run", flags->run, "folder of a run")->required();
  CLI::Option* last =
      command->add_option("--last", flags->last, "average the latest N checkpoints (default: 5)")
          ->check(positive());
  command->add_option("--best", flags->best, "average the best N by validation")
      ->check(positive())
      ->excludes(last);
  command->add_option("--output", flags->output, "the run to make (default: RUN-average)");
  command->add_flag("--overwrite", flags->overwrite, "remove what an earlier run wrote");
  command->callback([flags] { average_command(*flags); });
}

}  // namespace roformer
