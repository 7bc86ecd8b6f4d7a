// The program and its subcommands. Each subcommand is one file with a function
// `add_X_command(CLI::App&)`, which describes its flags and sets its callback. The function is
// declared below and named in the list of command.cpp:
//
//   void add_train_command(CLI::App& program) {
//     auto options = std::make_shared<TrainOptions>();
//     CLI::App* command = add_listed_command(program, "train");
//     command->add_option("config", options->config, "configuration file")->required();
//     accept_settings(*command, options->overrides);
//     command->callback([options] { train(*options); });
//   }
//
// The callback runs after the whole command line has been parsed. It throws Error for mistakes that
// the user can fix.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/assignment.h"
#include "config/settings.h"
#include "config/value.h"

namespace roformer {

struct CommandText {
  std::string name;
  std::string summary;  // one line in the list of commands
  std::string details;  // shown below the summary in the command's own help; may be empty
  std::string group;    // heading in the list of commands; empty inside another command
};
CLI::App* add_command(CLI::App& parent, CommandText text);

// Adds a subcommand with the summary and heading that `roformer --help` lists for it. The list
// needs no LibTorch, so help and the commands that read no tensors start at once.
CLI::App* add_listed_command(CLI::App& program, std::string_view name, std::string details = "");

// The keys of the configuration that a command takes as flags, and the help text about them.
struct SettingsFlags {
  std::function<bool(const std::string& key)> accepts;  // empty: every key
  std::string help;                                     // empty: the keys that people change most
};
// Makes keys of the configuration flags of the command (`--training.steps 1000`, `--seed 2`,
// `--position rope`, `--position.buckets 64`) and collects them in `overrides` in their order. A
// flag that the command itself defines, such as `--run` of an import, remains the command's.
// `overrides` must live until the callback has run.
void accept_settings(CLI::App& command, std::vector<Override>& overrides, SettingsFlags flags = {});

// Throws Error (usage) for the first of these flags that the user gave although it has no effect
// here: "--byte-fallback: is not for --kind characters".
void refuse_given(const CLI::App& command, std::initializer_list<const char*> flags,
                  const std::string& because, const std::string& hint = "");

// Checks the number of a flag; the message fits on one line.
CLI::Validator positive();
CLI::Validator not_negative();
// Also accepts fractions (config/value.h). CLI::Range would let "nan" through.
CLI::Validator number_in(const Range& range);

inline constexpr std::int64_t kMostThreads = 4096;  // the configuration's limit

void add_average_command(CLI::App& program);
void add_bench_command(CLI::App& program);
void add_completion_command(CLI::App& program);
void add_config_command(CLI::App& program);
void add_data_command(CLI::App& program);
void add_doctor_command(CLI::App& program);
void add_embed_command(CLI::App& program);
void add_estimate_command(CLI::App& program);
void add_evaluate_command(CLI::App& program);
void add_explain_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_fill_mask_command(CLI::App& program);
void add_generate_command(CLI::App& program);
void add_gpu_check_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_positions_command(CLI::App& program);
void add_predict_command(CLI::App& program);
void add_quickstart_command(CLI::App& program);
void add_report_command(CLI::App& program);
void add_runs_command(CLI::App& program);
void add_score_command(CLI::App& program);
void add_study_command(CLI::App& program);
void add_tokenizer_command(CLI::App& program);
void add_train_command(CLI::App& program);
void add_translate_command(CLI::App& program);

// Returns the line that says how a run with these settings will be exported; empty: print nothing.
// Only a program linked with LibTorch knows it.
using ExportLine = std::function<std::string(const Settings&)>;
void add_config_command(CLI::App& program, const ExportLine& export_line);

// There are two executables. `roformer` runs the subcommands that read no tensors and passes the
// others on to `roformer-torch`. Loading LibTorch takes 0.3 s, longer than most work of `roformer
// config` or `roformer score`.
using AddCommand = void (*)(CLI::App& program);

// Makes the program with every listed subcommand. Subcommands that are missing from `here` accept
// any arguments and call `elsewhere`.
std::unique_ptr<CLI::App> make_program(const std::map<std::string, AddCommand>& here,
                                       const std::function<void()>& elsewhere);
// Makes one program with every subcommand, for `roformer-torch` and the tests (whole_program.cpp).
std::unique_ptr<CLI::App> make_whole_program();

// Replaces this process by `roformer-torch`, which is beside this executable or, after
// installation, in its libexec folder. Throws Error (failure) if it is missing.
[[noreturn]] void continue_with_torch(char** arguments);

// Prints the script for a shell that the build or the installation wrote into share/; returns false
// if it is not there or the arguments say something else than `completion SHELL`.
bool print_installed_completion(int argc, char** argv);
// Adds the flags for keys of the configuration (accept_settings) to a command that is not parsed.
void show_settings_flags(CLI::App& command);
inline constexpr const char* kSettingsGroup = "settings";  // their group
// The text below the flags of a command's help, in lines of 80 columns.
std::string footer_of(const CLI::App& command);

// Parses the command line and runs the callback. Returns the exit code: 0, 1 (failure), 2 (usage),
// 70 (a bug of this program). Messages go to standard error, help to standard output.
int run_program(CLI::App& program, int argc, char** argv);

}  // namespace roformer
