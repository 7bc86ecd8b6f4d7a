// `roformer bench compare`: measures this program and others on the same work.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "base/process.h"
#include "base/version.h"
#include "bench/comparison.h"
#include "cli/bench_commands.h"
#include "cli/machine.h"
#include "training/signals.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct CompareOptions : BenchFlags {
  std::string file;
  std::string only;
  std::string record;
  std::int64_t rounds = 0;
};

nlohmann::ordered_json described_machine() {
  const Machine machine = inspect_machine(fs::current_path());
  return {{"processor", machine.processor},
          {"cores", machine.usable_cores},
          {"memory_bytes", machine.memory},
          {"instruction_sets", machine.instruction_sets}};
}

void bench_compare(const CompareOptions& options) {
  SpeedComparison comparison = read_comparison(options.file);
  if (options.rounds > 0) comparison.rounds = options.rounds;
  const auto title = [](const ComparedPair& pair) {
    return fmt::format("{}, against {}", pair.work, pair.peer);
  };
  const auto wanted = [&](const ComparedPair& pair) {
    return title(pair).find(options.only) != std::string::npos;
  };
  if (std::ranges::none_of(comparison.pairs, wanted)) {
    throw_usage("--only",
                fmt::format("no pair of {} is named so: \"{}\"", options.file, options.only));
  }
  const Origin origin = this_program();
  const nlohmann::ordered_json machine = described_machine();
  SpeedComparison others = comparison;
  std::erase_if(others.pairs, wanted);
  std::vector<MeasuredPair> recorded;
  if (!options.record.empty()) {
    recorded = measured_before(options.record, others, machine);
    // Figures from another machine cannot be compared with ours.
    if (recorded.size() < others.pairs.size() && fs::exists(options.record)) {
      log::warn(
          "{}: {} of the {} other pairs are not measured on this machine, and will not be in "
          "the record",
          options.record, others.pairs.size() - recorded.size(), others.pairs.size());
    }
  }

  const auto place_in_file = [&comparison](const MeasuredPair& one) {
    return std::ranges::find_if(comparison.pairs,
                                [&one](const ComparedPair& pair) {
                                  return pair.work == one.pair.work &&
                                         pair.command == one.pair.command;
                                }) -
           comparison.pairs.begin();
  };

  const ScratchFolder scratch("compare");
  const std::string program = startable_program();
  const StopSignals signals("stopping; pairs that were measured are in the record");
  std::vector<MeasuredPair> measured;
  for (const ComparedPair& pair : comparison.pairs) {
    if (!wanted(pair)) continue;
    std::cerr << fmt::format("{}: {} rounds\n", title(pair), comparison.rounds);
    ComparedTimings timings;
    try {
      timings = compare(pair, comparison.rounds, {.scratch = scratch.path(), .program = program});
    } catch (const Error&) {
      const int stopped = StopSignals::received();
      if (stopped == 0) throw;
      throw CLI::RuntimeError(kSignalExit + stopped);
    }
    measured.push_back({.pair = pair, .timings = std::move(timings), .commit = kCommit});
    recorded.push_back(measured.back());
    std::ranges::sort(recorded, {}, place_in_file);
    // Saves the record after every pair, because the next pair may be stopped or fail.
    if (!options.record.empty()) {
      write_comparison_record(options.record, comparison.file, recorded, origin, machine);
    }
  }
  const Table table = comparison_table(measured);
  print(table, options, "Comparison with other programs");
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
  command->add_option("--only", options->only,
                      "the pairs that have this in their title, as \"WORK, against PEER\"");
  command
      ->add_option("--rounds", options->rounds, "times that each pair runs (default: the file's)")
      ->check(positive());
  command->add_flag("--markdown", options->markdown, "the table in Markdown");
  add_format_flag(*command, *options, {"text", "markdown", "csv", "latex"});
  command->add_option("--record", options->record,
                      "write the figures of every round and the table to this file, which "
                      "keeps what was measured of other pairs on this processor");
  command->callback([options] { bench_compare(*options); });
}

}  // namespace roformer
