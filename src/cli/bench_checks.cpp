// `roformer bench checks`: measures the cost of comparing checksums.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/output_folder.h"
#include "base/progress.h"
#include "bench/check_costs.h"
#include "cli/bench_commands.h"

namespace roformer {
namespace {

struct BenchChecksOptions : BenchFlags {
  std::int64_t rounds = 10;
};

void bench_checks(const BenchChecksOptions& options) {
  const Settings settings = load_benchmark_settings(options, kLanguageModels);
  const ComputePlan plan = prepare(settings);
  const ScratchFolder folder("checks");
  const std::vector<CheckCost> costs = [&] {
    const ElapsedLine elapsed("measuring");
    return measure_check_costs(settings, plan, folder.path(), options.rounds);
  }();
  if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const CheckCost& cost : costs) {
      rows.push_back({{"what", cost.what},
                      {"check_ms", cost.check_milliseconds},
                      {"work_ms", cost.work_milliseconds}});
    }
    std::cout << rows.dump() << '\n';
    return;
  }
  Table table({{.title = "checked", .alignment = Column::Alignment::left},
               fixed_column("check", "ms", 3),
               fixed_column("without it", "ms", 1),
               fixed_column("share", "%", 2)});
  for (const CheckCost& cost : costs) {
    table.add_row({cost.what, cost.check_milliseconds, cost.work_milliseconds, 100 * cost.share()});
  }
  print(table);
}

}  // namespace

void add_bench_checks(CLI::App& bench) {
  auto options = std::make_shared<BenchChecksOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "checks",
       .summary = "what comparing checksums costs: of a checkpoint, of a step's tokens",
       .details = "  roformer bench checks --config configs/bench/mlm-base.yaml\n"
                  "Medians over rounds of the check and of what it is a part of: loading the "
                  "weights, going on\nfrom a checkpoint, a training step. The files lie in the "
                  "system's cache.\n"});
  add_config_flag(*command, *options)->required();
  add_count(*command, "--rounds", options->rounds, "rounds measured, after one warm-up round");
  add_json_flag(*command, *options, "one JSON array");
  accept_settings(*command, options->overrides);
  command->callback([options] { bench_checks(*options); });
}

}  // namespace roformer
