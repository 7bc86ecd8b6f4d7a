#include "cli/bench_compare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/error.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/machine.h"
#include "report/table.h"
#include "study/comparison.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct CompareOptions {
  std::string file;
  std::string only;
  std::string record;
  std::int64_t rounds = 0;
  bool markdown = false;
};

// A folder of this process in the system's place for such, gone with this object.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(fs::temp_directory_path() / fmt::format("roformer-compare-{}", ::getpid())) {
    fs::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void bench_compare(const CompareOptions& options) {
  SpeedComparison comparison = read_comparison(options.file);
  if (options.rounds > 0) comparison.rounds = options.rounds;
  std::erase_if(comparison.pairs, [&](const ComparedPair& pair) {
    return pair.work.find(options.only) == std::string::npos;
  });
  if (comparison.pairs.empty()) {
    throw_usage("--only",
                fmt::format("no work of {} is named so: \"{}\"", options.file, options.only));
  }
  const ScratchFolder scratch;
  // Not /proc/self, which would be the shell's own.
  const std::string program = fmt::format("/proc/{}/exe", ::getpid());
  std::vector<ComparedTimings> timings;
  for (const ComparedPair& pair : comparison.pairs) {
    std::cerr << fmt::format("{}, against {}: {} rounds\n", pair.work, pair.peer,
                             comparison.rounds);
    timings.push_back(
        compare(pair, comparison.rounds, {.scratch = scratch.path(), .program = program}));
  }
  const Table table = comparison_table(comparison, timings);
  std::cout << (options.markdown ? to_markdown(table)
                                 : to_text(table, {.width = terminal_width()}));
  if (options.record.empty()) return;
  const Machine machine = inspect_machine(fs::current_path());
  write_comparison_record(options.record, comparison, timings,
                          {.command = command_line(), .version = kVersion, .commit = kCommit},
                          {{"processor", machine.processor},
                           {"cores", machine.usable_cores},
                           {"memory_bytes", machine.memory},
                           {"instruction_sets", machine.instruction_sets}});
}

}  // namespace

void add_bench_compare(CLI::App& bench) {
  CLI::App* command = add_command(
      bench,
      {.name = "compare",
       .summary = "this program and others at the same work, alternating",
       .details = "roformer bench compare scripts/peers/speed.yaml\n"
                  "roformer bench compare scripts/peers/speed.yaml --only pretraining --rounds 5\n"
                  "The file names pairs of commands. Each prints one JSON object; a figure of it\n"
                  "(\"step_ms\", \"sentences_per_s\") is compared, and the most memory that each\n"
                  "process held. The machine should be idle otherwise.\n"});
  auto options = std::make_shared<CompareOptions>();
  command->add_option("file", options->file, "YAML file of pairs of commands")->required();
  command->add_option("--only", options->only, "the pairs whose work has this in its name");
  command
      ->add_option("--rounds", options->rounds, "times that each pair runs (default: the file's)")
      ->check(positive());
  command->add_flag("--markdown", options->markdown, "the table in Markdown");
  command->add_option("--record", options->record,
                      "write the figures of every round and the table to this file");
  command->callback([options] { bench_compare(*options); });
}

}  // namespace roformer
