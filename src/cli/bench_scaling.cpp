// `roformer bench scaling`: measures training steps of several processes on this machine, and
// predicts those of more.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
  std::vector<std::int64_t> predicted = {8, 64, 256};
  std::optional<double> bandwidth, latency;  // of the predictions; else as measured
  std::string worker;  // the file into which the first process writes its times
};

// The times as the first process hands them on: the fields of the row, then those that only a
// prediction needs.
nlohmann::ordered_json to_json(const ScalingTimes& times) {
  const StepCost& cost = times.cost;
  nlohmann::ordered_json json{{"processes", times.processes},
                              {"threads", times.threads},
                              {"tokens", times.tokens},
                              {"gradient_bytes", cost.gradient_bytes},
                              {"bytes_sent", cost.bytes_sent(times.processes)},
                              {"step_ms", times.step_milliseconds},
                              {"compute_ms", 1e3 * cost.compute},
                              {"wait_ms", times.wait_milliseconds},
                              {"reduce_ms", times.reduce_milliseconds},
                              {"bare_reduce_ms", times.bare_milliseconds},
                              {"hidden", times.hidden()},
                              {"tokens_per_s", times.tokens_per_second()},
                              {"max_rss_mib", times.peak_memory_mib},
                              {"way", times.way},
                              {"embedding_bytes", cost.embedding_bytes},
                              {"bucket_bytes", cost.bucket_bytes},
                              {"micro_batches", cost.micro_batches},
                              {"rounds", cost.rounds},
                              {"overlaps", cost.overlaps}};
  if (times.processes > 1) {
    json["bandwidth"] = times.network().bandwidth;
    json["latency"] = times.network().latency;
  }
  return json;
}

StepCost cost_in(const nlohmann::json& row) {
  return {.compute = row["compute_ms"].get<double>() / 1e3,
          .micro_batches = row["micro_batches"],
          .gradient_bytes = row["gradient_bytes"],
          .embedding_bytes = row["embedding_bytes"],
          .bucket_bytes = row["bucket_bytes"],
          .rounds = row["rounds"],
          .overlaps = row["overlaps"]};
}

// A single process on a GPU is connected, too, so that it tries NCCL.
std::unique_ptr<Processes> connect_worker(bool on_gpu) {
  Launch launch = read_launch();
  if (launch.alone()) {
    launch.master_address = "127.0.0.1";
    launch.master_port = std::stoll(std::getenv("MASTER_PORT"));
  }
  return connect(launch, {.alone = on_gpu});
}

void work(const ScalingOptions& options, const Settings& settings) {
  ComputePlan plan =
      plan_compute(settings.device, settings.training.precision, settings.model.width);
  const std::unique_ptr<Processes> processes = connect_worker(plan.device.is_cuda());
  prepare_threads(threads_of_each(settings, *processes));
  if (plan.device.is_cuda()) plan.device = take_gpu(processes->local_rank());
  check_processes(settings, plan, *processes);
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

// The rows measured with the fewest and the most processes.
struct Basis {
  const nlohmann::json& least;
  const nlohmann::json& most;
};

Basis basis_of(const std::vector<nlohmann::json>& rows) {
  const auto processes = [](const nlohmann::json& row) {
    return row["processes"].get<std::int64_t>();
  };
  return {.least = *std::ranges::min_element(rows, {}, processes),
          .most = *std::ranges::max_element(rows, {}, processes)};
}

// Empty if no network is measured or given.
std::optional<Network> network_of(const ScalingOptions& options, const nlohmann::json& most) {
  if (most.contains("bandwidth")) {
    return Network{.bandwidth = options.bandwidth.value_or(most["bandwidth"]),
                   .latency = options.latency.value_or(most["latency"])};
  }
  if (!options.bandwidth) return std::nullopt;
  return Network{.bandwidth = *options.bandwidth, .latency = options.latency.value_or(0)};
}

nlohmann::ordered_json to_json(const StepForecast& forecast, const Network& network,
                               std::int64_t tokens) {
  return {{"predicted", true},
          {"processes", forecast.processes},
          {"tokens", tokens},
          {"step_ms", 1e3 * forecast.step},
          {"compute_ms", 1e3 * forecast.compute},
          {"reduce_ms", 1e3 * forecast.left()},
          {"bare_reduce_ms", 1e3 * forecast.reduction},
          {"hidden", forecast.hidden()},
          {"efficiency", forecast.efficiency()},
          {"tokens_per_s", static_cast<double>(tokens) / forecast.step},
          {"bandwidth", network.bandwidth},
          {"latency", network.latency}};
}

std::string in_megabytes(double bytes) {
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

// Where a figure of the network comes from.
std::string origin_of(const std::optional<double>& given, const char* flag,
                      const nlohmann::json& most) {
  if (given) return flag;
  if (!most.contains("bandwidth")) return "not measured";
  return fmt::format("measured between {} processes here, {}",
                     most["processes"].get<std::int64_t>(), most["way"].get<std::string>());
}

void print_assumptions(const ScalingOptions& options, const Basis& basis, const Network& network) {
  const StepCost cost = cost_in(basis.least);
  const auto gradient = static_cast<double>(cost.gradient_bytes);
  const auto embeddings = static_cast<double>(cost.embedding_bytes);
  const auto processes = basis.least["processes"].get<std::int64_t>();
  const auto print = [&](const std::string& line) { print_line(line, options); };
  print("The predictions assume:");
  print(fmt::format(
      "  computing  {:.1f} ms, as with {} here; no process shares cores or a GPU, "
      "or waits for a slower one",
      1e3 * cost.compute, processes == 1 ? "one process" : fmt::format("{} processes", processes)));
  print(fmt::format("  rows       {} tokens of each process in a step, however many there are",
                    format_count(basis.least["tokens"].get<std::int64_t>() / processes)));
  print(fmt::format("  bandwidth  {:.3g} GB/s each way of a process ({})", network.bandwidth / 1e9,
                    origin_of(options.bandwidth, "--bandwidth", basis.most)));
  print(fmt::format("  latency    {:.4g} us a message ({})", network.latency * 1e6,
                    origin_of(options.latency, "--latency", basis.most)));
  print(
      fmt::format("  reduction  in a ring: {} (n - 1)/n x {} / bandwidth + {} (n - 1) x {} "
                  "buckets x latency",
                  cost.rounds, in_megabytes(gradient), cost.rounds,
                  cost.messages(gradient - embeddings) + cost.messages(embeddings)));
  print(
      cost.overlaps
          ? fmt::format("  overlap    {} of layers travel during the last backward pass (2/3 of "
                        "computing a micro-batch), {} of embeddings after it",
                        in_megabytes(gradient - embeddings), in_megabytes(embeddings))
          : "  overlap    none, since training.shard_optimizer and training.reduce: deterministic "
            "add after the pass");
  if (basis.most["processes"].get<std::int64_t>() == 1) return;
  // The same model with what the processes really had: their computing and their network.
  const StepForecast here =
      forecast_step(cost_in(basis.most), basis.most["processes"],
                    {.bandwidth = basis.most["bandwidth"], .latency = basis.most["latency"]});
  print(
      fmt::format("  check      with computing and network of the {} processes here the model "
                  "gives {:.1f} ms a step and hides {:.0f} %; measured without waiting {:.1f} ms "
                  "and {:.0f} %",
                  here.processes, 1e3 * here.step, 100 * here.hidden(),
                  basis.most["step_ms"].get<double>() - basis.most["wait_ms"].get<double>(),
                  100 * basis.most["hidden"].get<double>()));
}

// What --ranks and the flags of the network do not allow. Said before anything is measured.
void require_network(const ScalingOptions& options, bool asked) {
  const bool measures = std::ranges::max(options.ranks) > 1;
  if (measures || options.bandwidth || !asked) return;
  throw_usage("--predict", "needs a network, and one process measures none",
              "--ranks 1,2, or --bandwidth 25e9 --latency 20e-6");
}

void bench_scaling(const ScalingOptions& options, bool asked_to_predict) {
  const Settings settings = load_benchmark_settings(options, kLanguageModels);
  if (!options.worker.empty()) return work(options, settings);
  require_network(options, asked_to_predict);
  const ScratchFolder folder("scaling");
  Table table({{.title = "figures", .alignment = Column::Alignment::left},
               fixed_column("processes", "", 0),
               fixed_column("threads of each", "", 0),
               fixed_column("tokens/s", "", 0),
               fixed_column("step", "ms", 1),
               fixed_column("compute", "ms", 1),
               fixed_column("wait", "ms", 1),
               fixed_column("reduce", "ms", 1),
               fixed_column("reduce alone", "ms", 1),
               fixed_column("hidden", "%", 0),
               fixed_column("efficiency", "%", 0),
               fixed_column("memory", "MiB", 0)});
  std::vector<nlohmann::json> rows;
  for (const std::int64_t ranks : options.ranks) {
    const nlohmann::json& found = rows.emplace_back([&] {
      const ElapsedLine elapsed(fmt::format("measuring, processes: {}", ranks));
      return measured(options, ranks, folder.path());
    }());
    if (options.json) std::cout << found.dump() << '\n';
  }
  const Basis basis = basis_of(rows);
  const auto least = basis.least["processes"].get<std::int64_t>();
  const double rate = basis.least["tokens_per_s"].get<double>() / static_cast<double>(least);
  for (const nlohmann::json& row : rows) {
    const auto processes = row["processes"].get<std::int64_t>();
    const bool several = processes > 1;
    const auto percent = [&](double share) -> Cell {
      return several ? Cell(100 * share) : Cell(std::monostate{});
    };
    const auto tokens_per_second = row["tokens_per_s"].get<double>();
    table.add_row({std::string("measured"), processes, row["threads"].get<std::int64_t>(),
                   tokens_per_second, row["step_ms"].get<double>(), row["compute_ms"].get<double>(),
                   row["wait_ms"].get<double>(), row["reduce_ms"].get<double>(),
                   row["bare_reduce_ms"].get<double>(), percent(row["hidden"].get<double>()),
                   100 * tokens_per_second / (rate * static_cast<double>(processes)),
                   row["max_rss_mib"].get<std::int64_t>()});
  }
  const std::optional<Network> network = network_of(options, basis.most);
  const StepCost cost = cost_in(basis.least);
  const std::int64_t tokens = basis.least["tokens"].get<std::int64_t>() / least;
  for (const std::int64_t processes : options.predicted) {
    if (!network) break;
    const StepForecast forecast = forecast_step(cost, processes, *network);
    const nlohmann::ordered_json row = to_json(forecast, *network, processes * tokens);
    if (options.json) std::cout << row.dump() << '\n';
    table.add_row({std::string("predicted"), processes, std::monostate{},
                   row["tokens_per_s"].get<double>(), 1e3 * forecast.step, 1e3 * forecast.compute,
                   std::monostate{}, 1e3 * forecast.left(), 1e3 * forecast.reduction,
                   100 * forecast.hidden(), 100 * forecast.efficiency(), std::monostate{}});
  }
  if (options.json) return;
  print(table);
  if (network) print_assumptions(options, basis, *network);
}

}  // namespace

void add_bench_scaling(CLI::App& bench) {
  auto options = std::make_shared<ScalingOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "scaling",
       .summary = "training steps of a language model on random tokens in several processes "
                  "on this machine, and what more processes would take",
       .details = "  roformer bench scaling --config configs/bench/mlm-small.yaml --ranks 1,2\n"
                  "  roformer bench scaling --config configs/bench/mlm-base.yaml --ranks 1 "
                  "--bandwidth 25e9 --latency 20e-6\n"
                  "Each process has training.batch x training.accumulation rows; a training shares "
                  "them.\nreduce: the part of adding the gradients that computing does not hide. "
                  "reduce alone: all of it.\nsrc/training/distributed/README.md has the model of "
                  "the predictions.\n"});
  add_config_flag(*command, *options)->required();
  command->add_option("--ranks", options->ranks, "numbers of processes, one row each")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}));
  command->add_option("--steps", options->steps, "steps measured, after 2 that are not")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  CLI::Option* const predict =
      command->add_option("--predict", options->predicted, "numbers of processes to predict")
          ->delimiter(',')
          ->capture_default_str()
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command
      ->add_option(
          "--bandwidth", options->bandwidth,
          "for the predictions: bytes/s that a process sends each way; default: as measured")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--latency", options->latency,
                   "for the predictions: seconds per message; default: as measured")
      ->check(CLI::NonNegativeNumber);
  add_json_flag(*command, *options, "one JSON object per row");
  command->add_option("--worker", options->worker)->group("");
  accept_settings(*command, options->overrides);
  command->callback([options, predict] { bench_scaling(*options, predict->count() > 0); });
}

}  // namespace roformer
