// `roformer bench scaling`: measures training steps of several processes on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/launch.h"
#include "base/output_folder.h"
#include "base/process.h"
#include "base/progress.h"
#include "bench/scaling.h"
#include "cli/bench_commands.h"
#include "experiments/child_process.h"
#include "runs/process_agreement.h"
#include "training/distributed/job_secret.h"
#include "training/distributed/processes.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct ScalingOptions : BenchFlags {
  std::vector<std::int64_t> ranks = {1, 2};
  std::int64_t steps = 10;
  std::string worker;  // the file into which the first process writes its times
};

nlohmann::ordered_json to_json(const ScalingTimes& times) {
  return {{"processes", times.processes},
          {"threads", times.threads},
          {"tokens", times.tokens},
          {"gradient_bytes", times.bytes},
          {"bytes_sent", times.bytes_sent()},
          {"step_ms", times.step_milliseconds},
          {"compute_ms", times.compute_milliseconds()},
          {"wait_ms", times.wait_milliseconds},
          {"reduce_ms", times.reduce_milliseconds},
          {"bare_reduce_ms", times.bare_milliseconds},
          {"tokens_per_s", times.tokens_per_second()},
          {"max_rss_mib", times.peak_memory_mib}};
}

void work(const ScalingOptions& options, const Settings& settings) {
  const std::unique_ptr<Processes> processes = connect(read_launch());
  prepare_threads(threads_of_each(settings, *processes));
  const ComputePlan plan =
      plan_compute(DeviceKind::cpu, settings.training.precision, settings.model.width);
  const ScalingTimes times = measure_scaling(settings, plan, *processes, options.steps);
  if (processes->first()) write_file_atomically(options.worker, to_json(times).dump());
}

// Starts the processes for one line of the table: this program with torchrun's variables.
nlohmann::json measured(const ScalingOptions& options, std::int64_t ranks, const fs::path& folder) {
  constexpr std::int64_t kPort = 29600;
  const fs::path result = folder / fmt::format("{}.json", ranks);
  // Passes the secret through the environment. Other users could read a command line.
  ::setenv(kJobSecretVariable, JobSecret::make().text().c_str(), /*overwrite=*/1);
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> words{fmt::format("RANK={}", rank),
                                   fmt::format("WORLD_SIZE={}", ranks),
                                   fmt::format("LOCAL_RANK={}", rank),
                                   fmt::format("LOCAL_WORLD_SIZE={}", ranks),
                                   "MASTER_ADDR=127.0.0.1",
                                   fmt::format("MASTER_PORT={}", kPort + ::getpid() % 1000),
                                   program_path().string(),
                                   "bench",
                                   "scaling",
                                   "--config",
                                   options.config,
                                   "--steps",
                                   std::to_string(options.steps),
                                   "--worker",
                                   result.string()};
    for (const Override& change : options.overrides) {
      words.push_back("--" + change.key);
      words.push_back(change.text);
    }
    children.push_back(std::make_unique<ChildProcess>(
        ChildProcess::Command{.program = "/usr/bin/env",
                              .arguments = std::move(words),
                              .output = folder / fmt::format("{}-{}.txt", ranks, rank)}));
  }
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    std::optional<ChildExit> end;
    while (!(end = children[rank]->poll())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (end->good()) continue;
    throw_failure(fmt::format("process {} of {}", rank, ranks),
                  read_file(folder / fmt::format("{}-{}.txt", ranks, rank)));
  }
  return nlohmann::json::parse(read_file(result));
}

void bench_scaling(const ScalingOptions& options) {
  const Settings settings = load_benchmark_settings(options, kLanguageModels);
  if (!options.worker.empty()) return work(options, settings);
  const ScratchFolder folder("scaling");
  Table table({fixed_column("processes", "", 0), fixed_column("threads of each", "", 0),
               fixed_column("tokens/s", "", 0), fixed_column("step", "ms", 1),
               fixed_column("compute", "ms", 1), fixed_column("wait", "ms", 1),
               fixed_column("reduce", "ms", 1), fixed_column("reduce alone", "ms", 1),
               fixed_column("memory", "MiB", 0)});
  for (const std::int64_t ranks : options.ranks) {
    const nlohmann::json found = [&] {
      const ElapsedLine elapsed(fmt::format("measuring, processes: {}", ranks));
      return measured(options, ranks, folder.path());
    }();
    if (options.json) {
      std::cout << found.dump() << '\n';
      continue;
    }
    table.add_row({found["processes"].get<std::int64_t>(), found["threads"].get<std::int64_t>(),
                   found["tokens_per_s"].get<double>(), found["step_ms"].get<double>(),
                   found["compute_ms"].get<double>(), found["wait_ms"].get<double>(),
                   found["reduce_ms"].get<double>(), found["bare_reduce_ms"].get<double>(),
                   found["max_rss_mib"].get<std::int64_t>()});
  }
  if (!options.json) print(table);
}

}  // namespace

void add_bench_scaling(CLI::App& bench) {
  auto options = std::make_shared<ScalingOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "scaling",
       .summary = "training steps of a language model on random tokens in several processes "
                  "on this machine",
       .details = "  roformer bench scaling --config configs/bench/mlm-small.yaml --ranks 1,2\n"
                  "Each process has training.batch x training.accumulation rows; a training shares "
                  "them.\nsrc/training/distributed/README.md says what the figures mean for other "
                  "machines.\n"});
  add_config_flag(*command, *options)->required();
  command->add_option("--ranks", options->ranks, "numbers of processes, one row each")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}));
  command->add_option("--steps", options->steps, "steps measured, after 2 that are not")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_json_flag(*command, *options, "one JSON object a row");
  command->add_option("--worker", options->worker)->group("");
  accept_settings(*command, options->overrides);
  command->callback([options] { bench_scaling(*options); });
}

}  // namespace roformer
