#include "cli/bench_checks.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/output_folder.h"
#include "base/progress.h"
#include "bench/check_costs.h"
#include "cli/bench_settings.h"
#include "cli/command.h"
#include "report/table.h"
#include "tensor/device.h"

namespace roformer {
namespace {

struct BenchChecksOptions {
  std::string config;
  std::int64_t rounds = 10;
  bool json = false;
  std::vector<Override> overrides;
};

void bench_checks(const BenchChecksOptions& options) {
  const Settings settings =
      load_benchmark_settings(options.config, options.overrides, kLanguageModels);
  prepare_threads(settings.threads);
  const ComputePlan plan =
      plan_compute(settings.device, settings.training.precision, settings.model.width);
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
  const auto column = [](const char* title, const char* unit, int digits) {
    return Column{.title = title,
                  .unit = unit,
                  .format = {.style = NumberFormat::Style::fixed, .digits = digits}};
  };
  Table table({{.title = "checked", .alignment = Column::Alignment::left},
               column("check", "ms", 3),
               column("without it", "ms", 1),
               column("share", "%", 2)});
  for (const CheckCost& cost : costs) {
    table.add_row({cost.what, cost.check_milliseconds, cost.work_milliseconds, 100 * cost.share()});
  }
  std::cout << to_text(table, {.width = terminal_width()});
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
  command->add_option("--config", options->config, "configuration file, for its sizes")->required();
  command->add_option("--rounds", options->rounds, "rounds measured, after one that is not")
      ->capture_default_str()
      ->check(positive());
  command->add_flag("--json", options->json, "one JSON array");
  accept_settings(*command, options->overrides);
  command->callback([options] { bench_checks(*options); });
}

}  // namespace roformer
