// `roformer bench positions`: measures the cost of the positional schemes in one table.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "base/version.h"
#include "bench/position_benchmark.h"
#include "cli/bench_commands.h"
#include "cli/machine.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct BenchPositionsOptions : BenchFlags {
  std::vector<std::string> schemes;
  std::vector<std::int64_t> lengths{512};
  std::int64_t sequences = 0;
  std::int64_t repeats = 5;
  std::optional<std::int64_t> shared_layers;
  bool layer_only = false;
  bool reference = false;
};

constexpr std::int64_t kTokens = 4096;  // per pass if the number of sequences is not given
constexpr double kMebibyte = 1 << 20;

// Base size with two layers and a small vocabulary, so that attention takes a visible share of a
// step.
const std::vector<Override> kSizes{{"model.width", "768"},
                                   {"model.heads", "12"},
                                   {"model.feed_forward", "3072"},
                                   {"model.layers", "2"},
                                   {"model.vocabulary", "4000"}};

const PositionCost& baseline(const std::vector<PositionCost>& costs, const PositionCost& cost) {
  return *std::ranges::find_if(costs, [&](const PositionCost& other) {
    return other.scheme == "none" && other.causal == cost.causal && other.length == cost.length;
  });
}

Table cost_table(const BenchPositionsOptions& options, const std::vector<PositionCost>& costs,
                 bool causal_model) {
  using Style = NumberFormat::Style;
  const NumberFormat time{.style = Style::fixed, .digits = 1}, share{Style::fixed, 2},
      whole{Style::count, 0};
  std::vector<Column> columns{{.title = "length", .format = whole},
                              {.title = "position", .alignment = Column::Alignment::left}};
  const auto timed = [&](const std::string& title, const std::string& key) {
    columns.push_back({.title = title, .key = key + "_ms", .unit = "ms", .format = time});
    columns.push_back({.title = "x none", .key = key + "_share", .format = share});
  };
  timed("forward", "forward");
  timed("+ backward", "training");
  columns.push_back({.title = "memory", .key = "memory_mib", .unit = "MiB", .format = whole});
  if (!options.layer_only) timed("model step", "step");
  if (options.reference) {
    columns.push_back(
        {.title = "plain: forward", .key = "plain_forward_ms", .unit = "ms", .format = time});
    columns.push_back(
        {.title = "+ backward", .key = "plain_training_ms", .unit = "ms", .format = time});
    columns.push_back(
        {.title = "memory", .key = "plain_memory_mib", .unit = "MiB", .format = whole});
  }
  Table table(std::move(columns));
  for (const PositionCost& cost : costs) {
    const PositionCost& none = baseline(costs, cost);
    std::vector<Cell> row{cost.length,
                          cost.scheme + (cost.causal && !causal_model ? " (causal)" : "")};
    const auto add_timed = [&](double value, double base) {
      row.push_back(measured(value));
      row.push_back(base > 0 ? measured(value, base) : Cell(std::monostate{}));
    };
    add_timed(cost.forward, none.forward);
    add_timed(cost.training, none.training);
    row.push_back(measured(cost.memory, kMebibyte));
    if (!options.layer_only) add_timed(cost.step, none.step);
    if (options.reference) {
      row.push_back(measured(cost.plain_forward));
      row.push_back(measured(cost.plain_training));
      row.push_back(measured(cost.plain_memory, kMebibyte));
    }
    table.add_row(std::move(row));
  }
  return table;
}

// Calls `finished` with all costs so far after each length.
std::vector<PositionCost> measure(
    const BenchPositionsOptions& options, const Settings& settings, const ComputePlan& plan,
    const std::function<void(const std::vector<PositionCost>&)>& finished) {
  std::vector<PositionCost> costs;
  // A map of layers must name all layers of the model.
  const bool of_layers = std::ranges::count(options.schemes, "layers") > 0;
  for (const std::int64_t length : options.lengths) {
    if (StopSignals::received() != 0) break;
    // Uses half of the free memory and leaves the rest to the other schemes and the page cache.
    const double memory = static_cast<double>(inspect_machine(".").memory_free) / 2;
    const PositionBenchmarkOptions benchmark{
        .schemes = options.schemes.empty() ? position_names() : options.schemes,
        .length = length,
        .sequences =
            options.sequences > 0 ? options.sequences : std::max<std::int64_t>(1, kTokens / length),
        .repeats = options.repeats,
        .layers = options.shared_layers.value_or(of_layers ? settings.model.layers : 1),
        .model = !options.layer_only,
        .plain = options.reference,
        .memory = memory,
        .stopped = [] { return StopSignals::received() != 0; }};
    std::optional<ElapsedLine> making(std::in_place,
                                      fmt::format("{} tokens: making the schemes ready", length));
    std::optional<ProgressBar> bar;
    const auto progress = [&](std::int64_t done, std::int64_t of) {
      making.reset();
      if (!bar) {
        bar.emplace(fmt::format("{} tokens", length), static_cast<std::uint64_t>(of), "passes");
        bar->begin();
      }
      bar->advance_to(static_cast<std::uint64_t>(done));
      if (done == of && of > 0) bar->finish(static_cast<std::uint64_t>(of));
    };
    for (PositionCost& cost : benchmark_positions(settings, plan, benchmark, progress)) {
      costs.push_back(std::move(cost));
    }
    making.reset();
    bar.reset();
    finished(costs);
  }
  return costs;
}

void print_remarks(const std::vector<PositionCost>& costs, const BenchFlags& flags) {
  for (const PositionCost& cost : costs) {
    if (cost.remark.empty()) continue;
    print_line(fmt::format("{} at {}: {}", cost.scheme, cost.length, cost.remark), flags);
  }
}

void bench_positions(BenchPositionsOptions options) {
  require_one_form(options);
  sort_once(options.lengths);
  require_schemes(options.schemes, /*suggests=*/true);
  const Settings settings = settings_or(options, kSizes);
  if (settings.model.vocabulary == 0 && !options.layer_only) {
    throw_usage("model.vocabulary", "0, but a benchmark has no tokenizer to take it from",
                "add --model.vocabulary 4000");
  }
  const ComputePlan plan = prepare(settings);
  const StopSignals signals("stopping; what was measured is shown");
  const std::string precision = to_word(plan.precision);
  const std::string device = device_in_words(plan);
  const bool causal = task_facts(settings.task).causal;
  if (options.text()) {
    const std::string what = fmt::format(
        "an attention layer ({} heads, width {}) and a step of {}, {}, {}, {}",
        settings.model.heads, settings.model.width, format_counted(settings.model.layers, "layer"),
        device, format_counted(at::get_num_threads(), "thread"), precision);
    fmt::print("{}\n\n", wrapped(what, terminal_width()));
  }
  std::optional<TextTableRows> rows;
  std::size_t printed = 0;
  const auto print_new_rows = [&](const std::vector<PositionCost>& costs) {
    if (!options.text() || costs.empty()) return;
    const Table table = cost_table(options, costs, causal);
    if (!rows) {
      std::vector<PositionCost> expected = costs;
      for (PositionCost& cost : expected) cost.length = options.lengths.back();
      rows.emplace(cost_table(options, expected, causal),
                   TextTableOptions{.width = terminal_width()});
      std::cout << rows->head(table);
    }
    for (; printed < costs.size(); ++printed) std::cout << rows->row(table, printed);
    std::cout << std::flush;
  };
  std::fflush(stdout);
  const std::vector<PositionCost> costs = measure(options, settings, plan, print_new_rows);
  const int stopped = StopSignals::received();
  const Table table = cost_table(options, costs, causal);
  if (options.json) {
    nlohmann::ordered_json remarks = nlohmann::ordered_json::object();
    for (const PositionCost& cost : costs) {
      if (!cost.remark.empty()) {
        remarks[fmt::format("{} at {}", cost.scheme, cost.length)] = cost.remark;
      }
    }
    const nlohmann::ordered_json document{{"device", device},
                                          {"threads", at::get_num_threads()},
                                          {"precision", precision},
                                          {"heads", settings.model.heads},
                                          {"width", settings.model.width},
                                          {"layers", settings.model.layers},
                                          {"repeats", options.repeats},
                                          {"version", kVersion},
                                          {"commit", kCommit},
                                          {"stopped", stopped != 0},
                                          {"rows", to_json(table)},
                                          {"remarks", remarks}};
    std::cout << document.dump(2) << '\n';
  } else {
    if (!options.text()) print(table, options, "What each positional scheme costs, " + device);
    if (!options.csv) print_remarks(costs, options);
  }
  if (stopped == 0) return;
  std::cerr << "stopped by a signal: medians of the rounds that were done, no memory\n";
  throw CLI::RuntimeError(kSignalExit + stopped);
}

}  // namespace

void add_bench_positions(CLI::App& bench) {
  auto options = std::make_shared<BenchPositionsOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "positions",
       .summary = "what each positional scheme costs: time and memory compared with `none`",
       .details =
           "Medians over rounds in which every scheme has its turn, after one warm-up round.\n"
           "forward, backward: an attention layer with its projections. step: of a model, with "
           "the\n"
           "optimiser. memory: the most that the layer's tensors took at once in forward and\n"
           "backward beyond what was there before, as LibTorch's allocators count (buffers that\n"
           "matrix libraries make for themselves are not seen). Schemes that look only to the "
           "left\n"
           "run causally and are compared with a causal `none`. Tables get a row for each "
           "position.\n"
           "Stopped early (Ctrl-C) it shows the medians of the rounds that were done.\n"
           "Without other sizes: 12 heads, width 768, 2 layers, 4096 tokens a pass.\n"});
  command->add_option("--position", options->schemes, "schemes, separated by commas; default: all")
      ->delimiter(',');
  add_lengths(*command, options->lengths, "tokens of a sequence (default 512)");
  command
      ->add_option("--batch", options->sequences,
                   "sequences of a pass; default: 4096 tokens, 8 sequences of 512")
      ->check(positive());
  add_count(*command, "--repeats", options->repeats, "rounds that count");
  command
      ->add_option(
          "--shared-layers", options->shared_layers,
          "attention layers per pass, which share what a scheme computes once per model (the bias "
          "of t5 and tupe); times are per layer (default 1; with the scheme layers the model's)")
      ->check(positive());
  command->add_flag("--layer-only", options->layer_only, "no steps of a model");
  command->add_flag("--reference", options->reference,
                    "beside it the plain form: every pair of positions written out, vectors of "
                    "distances as [L, L, D]; left out where half of the free memory is too little");
  add_json_flag(*command, *options);
  command->add_flag("--csv", options->csv, "the table as CSV");
  command->add_flag("--markdown", options->markdown, "the table as Markdown");
  add_format_flag(*command, *options, {"text", "markdown", "csv", "json", "latex"});
  add_config_flag(*command, *options);
  accept_settings(*command, options->overrides);
  command->callback([options] { bench_positions(*options); });
}

}  // namespace roformer
