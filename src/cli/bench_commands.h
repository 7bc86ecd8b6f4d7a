// The subcommands of `roformer bench`, one file each, and their shared flags, settings and tables.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/load.h"
#include "report/table.h"
#include "tensor/device.h"

namespace roformer {

void add_bench_attention(CLI::App& bench);  // attention kernels by the length of the text
void add_bench_checks(CLI::App& bench);     // the cost of comparing checksums
void add_bench_compare(CLI::App& bench);    // other programs at the same work
void add_bench_decoding(CLI::App& bench);   // translation of a file, continuation of its prompts
void add_bench_devices(CLI::App& bench);    // whether a device trains as the CPU does
void add_bench_positions(CLI::App& bench);  // the cost of the positional schemes
void add_bench_scaling(CLI::App& bench);    // steps of several processes on this machine

// Flags that several of the subcommands have. `overrides` are keys of the configuration.
struct BenchFlags {
  std::string config;
  bool json = false, csv = false, markdown = false, latex = false;
  std::vector<Override> overrides;

  bool text() const { return !json && !csv && !markdown && !latex; }
};
CLI::Option* add_config_flag(CLI::App& command, BenchFlags& flags);
void add_json_flag(CLI::App& command, BenchFlags& flags,
                   const std::string& help = "one JSON object");
// Adds --format WORD, the same as --json, --csv or --markdown; also text and latex. `known` lists
// the words.
void add_format_flag(CLI::App& command, BenchFlags& flags, const std::vector<std::string>& known);
// Adds a flag for a positive number with its default.
void add_count(CLI::App& command, const std::string& name, std::int64_t& value,
               const std::string& help);
// Adds "--lengths 512,1024": tokens per sequence. sort_once() sorts the lengths and removes
// repetitions.
CLI::Option* add_lengths(CLI::App& command, std::vector<std::int64_t>& lengths,
                         const std::string& help);
void sort_once(std::vector<std::int64_t>& values);

// Throws Error (usage) if the user asks for more than one form of a table.
void require_one_form(const BenchFlags& flags);
// Throws Error (usage) for the first name that is no positional scheme; with `suggests` it also
// names a near one.
void require_schemes(const std::vector<std::string>& names, bool suggests);

// The tasks that `bench mlm` and similar commands train.
inline constexpr std::initializer_list<TaskKind> kLanguageModels = {TaskKind::mlm,
                                                                    TaskKind::causal_lm};
// The settings of a benchmark on random tokens. Throws Error (usage) as load_settings does, for
// other tasks, and if the file gives no vocabulary size.
Settings load_benchmark_settings(const BenchFlags& flags, std::initializer_list<TaskKind> tasks);
// The file's settings or, without a file, these sizes; the flags' overrides change either.
Settings settings_or(const BenchFlags& flags, const std::vector<Override>& sizes);
// Prepares the threads and chooses device and precision.
ComputePlan prepare(const Settings& settings);
std::string device_in_words(const ComputePlan& plan);  // the processor, or "cuda:0"

// Returns an empty cell for a negative value, which means "not measured".
Cell measured(double value, double unit = 1);
Column fixed_column(const std::string& title, const std::string& unit, int digits);
// Prints the table in the form that the flags ask for, in LaTeX under the title.
void print(const Table& table, const BenchFlags& flags = {}, const std::string& title = "");
// A line beside the table, in LaTeX a comment.
void print_line(const std::string& line, const BenchFlags& flags);

}  // namespace roformer
