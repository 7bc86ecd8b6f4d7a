// What the subcommands share. A subcommand is one file: a function `add_X_command(CLI::App&)`,
// declared in commands.h and named in command_list.cpp, that describes its flags and sets its
// callback:
//
//   void add_train_command(CLI::App& program) {
//     auto options = std::make_shared<TrainOptions>();
//     CLI::App* command = add_listed_command(program, "train");
//     command->add_option("config", options->config, "configuration file")->required();
//     accept_settings(*command, options->overrides);
//     command->callback([options] { train(*options); });
//   }
//
// Nothing is done before the whole command line has been understood; then the callback runs, and
// throws Error for what the user can mend.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/value.h"

namespace roformer {

struct CommandText {
  std::string name;
  std::string summary;  // one line in the list of commands
  std::string details;  // below the summary in the command's own help; may be empty
  std::string group;    // heading in the list of commands; empty inside another command
};
CLI::App* add_command(CLI::App& parent, CommandText text);

// Which keys of the configuration a command takes as flags, and what its help says of them.
struct SettingsFlags {
  std::function<bool(const std::string& key)> accepts;  // none: every key
  std::string help;                                     // none: the keys that people change most
};
// Makes keys of the configuration flags of the command (`--training.steps 1000`, `--seed 2`,
// `--position rope`, `--position.buckets 64`), collected in `overrides` in their order. Keys that
// the command has a flag of its own for (`--run` of an import, say) stay the command's. `overrides`
// must live until the callback has run.
void accept_settings(CLI::App& command, std::vector<Override>& overrides, SettingsFlags flags = {});

// Throws Error (usage) for the first of these flags that the command was given, although nothing
// here follows it: "--byte-fallback: is not for --kind characters".
void refuse_given(const CLI::App& command, std::initializer_list<const char*> flags,
                  const std::string& because, const std::string& hint = "");

// Checks of a flag's number, with a message that fits on a line.
CLI::Validator positive();
// Of numbers with a fraction (config/value.h); CLI::Range lets "nan" through.
CLI::Validator number_in(const Range& range);
CLI::Validator not_negative();

inline constexpr std::int64_t kMostThreads = 4096;  // as many as a configuration may say

// Parses the command line and runs the callback. Returns the exit code: 0, 1 (failure), 2 (usage),
// 70 (a mistake of this program). Messages go to standard error, help to standard output.
int run_program(CLI::App& program, int argc, char** argv);

}  // namespace roformer
