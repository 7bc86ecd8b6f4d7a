// `roformer bench`: measures how fast this machine trains and predicts.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "bench/benchmark.h"
#include "bench/products.h"
#include "bench/random_training.h"
#include "cli/bench_commands.h"
#include "cli/command.h"
#include "cli/machine.h"
#include "config/words.h"

namespace roformer {
namespace {

constexpr std::int64_t kWarmup = 3;        // steps
constexpr std::int64_t kWarmupRounds = 1;  // for a translator
constexpr std::initializer_list<TaskKind> kClassifiers = {TaskKind::glue};
constexpr std::initializer_list<TaskKind> kTranslators = {TaskKind::translation};

struct BenchOptions : BenchFlags {
  std::int64_t steps = 0;
  bool lengths = false;
  bool profile = false;
  std::string trace;

  bool profiles() const { return profile || !trace.empty(); }
};

nlohmann::ordered_json to_json(const Settings& settings, const ComputePlan& plan,
                               const StepBenchmark& result) {
  return {{"position", settings.position.scheme},
          {"precision", to_word(plan.precision)},
          {"parameters", result.parameters},
          {"tokens", result.tokens},
          {"examples", result.examples},
          {"step_ms", result.step_milliseconds},
          {"best_ms", result.best_milliseconds},
          {"tokens_per_s", result.tokens_per_second},
          {"examples_per_s", result.examples_per_second},
          {"gflop", result.gflop},
          {"gflops_per_s", result.gflops_per_second},
          {"ceiling_gflops_per_s", result.ceiling_gflops_per_second},
          {"matmul_share", result.matmul_share},
          {"own_products_gflops_per_s", result.own_gflops_per_second},
          {"own_products_share", result.own_share},
          {"loader_share", result.loader_share},
          {"max_rss_mib", result.peak_memory_mib}};
}

// Returns nothing without a GPU, in fp32, and for a card with an unknown peak.
std::optional<double> model_flops_utilization(const ComputePlan& plan,
                                              const StepBenchmark& result) {
  const std::vector<std::string> cards = inspect_machine(".").nvidia_cards;
  if (!plan.device.is_cuda() || plan.precision != Precision::bf16 || cards.empty()) return {};
  const std::optional<double> peak = dense_bfloat16_peak(cards.front());
  return peak ? std::optional(result.gflops_per_second / *peak) : std::nullopt;
}

Table parts_table(const std::string& title, const std::vector<StepPart>& parts) {
  Table table({{.title = title, .alignment = Column::Alignment::left},
               fixed_column("time", "ms", 2),
               fixed_column("share", "%", 1),
               fixed_column("calls", "", 1)});
  for (const StepPart& part : parts) {
    const bool called = part.calls > 0;
    table.add_row({part.name, part.milliseconds, 100 * part.share,
                   called ? Cell(part.calls) : Cell(std::monostate{})});
  }
  return table;
}

void print_profile(const StepProfile& profile, at::Device device) {
  fmt::print("\nWhile a profile was made, a step took {:.1f} ms; ", profile.milliseconds);
  if (device.is_cpu()) {
    fmt::print(
        "the cores that it may use\nwaited {:.0f} % of the time: for another thread, or for "
        "work.\n\n",
        100 * profile.idle_share);
  } else {
    fmt::print(
        "the GPU was idle for {:.0f} % of it.\n"
        "These steps and those above ran without graphs, which reduce idle time.\n"
        "\n",
        100 * profile.idle_share);
  }
  const TextTableOptions width = for_terminal();
  fmt::print("{}\n", to_text(parts_table("part of a step", profile.parts), width));
  fmt::print("{}", to_text(parts_table("its longest operations", profile.operations), width));
}

nlohmann::ordered_json to_json(const std::vector<StepPart>& parts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StepPart& part : parts) {
    list.push_back({{"name", part.name},
                    {"ms", part.milliseconds},
                    {"share", part.share},
                    {"calls", part.calls}});
  }
  return list;
}

struct Benchmark {
  StepBenchmark (*run)(const Settings&, const ComputePlan&, const BenchmarkRounds&);
  std::initializer_list<TaskKind> tasks;
  std::int64_t warmup = 0;
};

void bench_steps(const BenchOptions& options, const Benchmark& benchmark) {
  Settings settings = load_benchmark_settings(options, benchmark.tasks);
  // A profile cannot distinguish the operations inside a graph.
  if (options.profiles()) settings.training.graphs = false;
  const ComputePlan plan = prepare(settings);
  BenchmarkRounds rounds{.measured = options.steps, .warmup = benchmark.warmup};
  if (options.profiles()) rounds.profile = plan.device;
  if (!options.trace.empty() && plan.device.is_cpu()) {
    throw_usage("--trace",
                "shows a GPU's kernels beside the host's operations, and here the CPU computes",
                "--profile says where a step's time goes");
  }
  // Checks the file first, because Kineto would fail only at the end. Appends nothing, so that an
  // existing file survives a benchmark that fails.
  if (!options.trace.empty() && !std::ofstream(options.trace, std::ios::app)) {
    throw_usage("--trace", options.trace + " cannot be written", "a path in an existing folder");
  }
  rounds.trace = options.trace;
  const StepBenchmark result = [&] {
    const ElapsedLine elapsed("measuring");
    return benchmark.run(settings, plan, rounds);
  }();
  const std::optional<double> utilization = model_flops_utilization(plan, result);
  if (options.json) {
    nlohmann::ordered_json object = to_json(settings, plan, result);
    if (result.gpu_memory_mib > 0) object["gpu_memory_mib"] = result.gpu_memory_mib;
    if (utilization) object["mfu"] = *utilization;
    if (result.profile) {
      object["parts"] = to_json(result.profile->parts);
      object["operations"] = to_json(result.profile->operations);
      object["idle_share"] = result.profile->idle_share;
    }
    std::cout << object.dump() << '\n';
    return;
  }
  fmt::print("{} parameters, {} tokens a step, position {}, {}\n", format_count(result.parameters),
             format_count(result.tokens), settings.position.scheme, to_word(plan.precision));
  fmt::print("step       {:.1f} ms (best {:.1f})\n", result.step_milliseconds,
             result.best_milliseconds);
  fmt::print("speed      {} tokens/s, {:.1f} sequences/s\n",
             format_count(static_cast<std::int64_t>(result.tokens_per_second)),
             result.examples_per_second);
  fmt::print(
      "arithmetic {:.1f} GFLOP a step in matrix products, {:.0f} GFLOP/s: {:.0f} % of the "
      "machine's {:.0f}\n",
      result.gflop, result.gflops_per_second, 100 * result.matmul_share,
      result.ceiling_gflops_per_second);
  if (result.own_gflops_per_second > 0) {
    fmt::print("           {:.0f} % of the {:.0f} that its own products reach one by one\n",
               100 * result.own_share, result.own_gflops_per_second);
  }
  fmt::print("batches    {:.2f} % of a step\n", 100 * result.loader_share);
  fmt::print("memory     {} MiB at most\n", result.peak_memory_mib);
  if (result.gpu_memory_mib > 0) fmt::print("on the GPU {} MiB at most\n", result.gpu_memory_mib);
  if (utilization) {
    fmt::print("MFU        {:.1f} % of the card's dense bf16 peak\n", 100 * *utilization);
  }
  if (result.profile) print_profile(*result.profile, plan.device);
}

std::shared_ptr<BenchOptions> add_options(CLI::App& command, const std::string& steps,
                                          std::int64_t standard) {
  auto options = std::make_shared<BenchOptions>();
  add_config_flag(command, *options)->required();
  command.add_option("--steps", options->steps, steps)->default_val(standard)->check(positive());
  add_json_flag(command, *options);
  command.add_flag("--profile", options->profile,
                   "and where a step's time goes, part by part (it takes a little longer then)");
  command.add_option("--trace", options->trace,
                     "on a GPU: a file for Perfetto or chrome://tracing, with what ran when");
  accept_settings(command, options->overrides);
  return options;
}

void add_steps(CLI::App& bench, const CommandText& text, const Benchmark& benchmark) {
  CLI::App* command = add_command(bench, text);
  auto options =
      add_options(*command, fmt::format("steps measured, after {} warm-up steps", kWarmup), 10);
  command->callback([options, benchmark] { bench_steps(*options, benchmark); });
}

// Prints [[[source, target], ...], ...]: one list of pairs for each step of a round.
void print_lengths(const Settings& settings) {
  nlohmann::json buckets = nlohmann::json::array();
  for (const LengthBucket& bucket : wmt_buckets(settings.training.batch_tokens)) {
    nlohmann::json pairs = nlohmann::json::array();
    for (const PairLength& pair : bucket) {
      pairs.push_back(nlohmann::json::array({pair.source, pair.target}));
    }
    buckets.push_back(std::move(pairs));
  }
  std::cout << buckets.dump() << '\n';
}

void add_translation(CLI::App& bench) {
  CLI::App* command = add_command(
      bench, {.name = "translation",
              .summary = "training steps of a translator on random tokens in pairs as long as "
                         "WMT's",
              .details = "roformer bench translation --config configs/bench/translation-base.yaml\n"
                         "A round has a step of each bucket of lengths, from short to long; the "
                         "figures are\nof an average step, its tokens those of the target. "
                         "--lengths prints the pairs, for\nscripts/peers/marian_step.py.\n"});
  auto options =
      add_options(*command, fmt::format("rounds measured, after {} that is not", kWarmupRounds), 3);
  command->add_flag("--lengths", options->lengths, "print the lengths of the pairs, train nothing");
  command->callback([options] {
    if (options->lengths) return print_lengths(load_benchmark_settings(*options, kTranslators));
    bench_steps(*options, {benchmark_translator, kTranslators, kWarmupRounds});
  });
}

}  // namespace

void add_bench_command(CLI::App& program) {
  CLI::App* command = add_listed_command(program, "bench");
  command->require_subcommand(1);
  add_steps(*command,
            {.name = "mlm",
             .summary = "training steps of a language model on random tokens (mlm or "
                        "causal_lm, as the file says)"},
            {benchmark_language_model, kLanguageModels, kWarmup});
  add_steps(*command,
            {.name = "glue",
             .summary = "fine-tuning steps of a classifier on random tokens in sentences "
                        "as long as SST-2's"},
            {benchmark_classifier, kClassifiers, kWarmup});
  add_steps(*command,
            {.name = "predict",
             .summary = "a classifier's prediction of such sentences (file as for `bench glue`)"},
            {benchmark_prediction, kClassifiers, kWarmup});
  add_translation(*command);
  add_bench_decoding(*command);
  add_bench_positions(*command);
  add_bench_attention(*command);
  add_bench_scaling(*command);
  add_bench_devices(*command);
  add_bench_checks(*command);
  add_bench_compare(*command);
}

}  // namespace roformer
