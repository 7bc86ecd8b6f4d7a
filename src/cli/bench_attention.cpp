// `roformer bench attention`: measures the cost of attention kernels by the length of the text.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/progress.h"
#include "bench/attention_benchmark.h"
#include "cli/bench_commands.h"
#include "cli/machine.h"
#include "config/suggest.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "report/chart.h"
#include "report/html.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct BenchAttentionOptions : BenchFlags {
  std::vector<std::string> kernels = attention_kernels();
  std::vector<std::int64_t> lengths{512, 1024, 2048, 4096};
  std::int64_t sequences = 1;
  std::int64_t repeats = 5;
  std::int64_t window = 256;
  double longest = 60;
  bool forms = false;
  std::string chart;
};

constexpr double kMebibytes = 1 << 20;

// A causal layer of base size with the paper's positions.
const std::vector<Override> kLayer{{"task", "causal_lm"}, {"model.width", "768"},
                                   {"model.heads", "12"}, {"model.feed_forward", "3072"},
                                   {"model.layers", "1"}, {"model.vocabulary", "4000"},
                                   {"position", "rope"}};

void check_options(BenchAttentionOptions& options) {
  const std::vector<std::string> known = attention_kernels();
  for (const std::string& kernel : options.kernels) {
    if (std::ranges::find(known, kernel) != known.end()) continue;
    throw_usage("--kernels",
                fmt::format("'{}' is none (known: {})", kernel, fmt::join(known, ", ")),
                suggestion(kernel, known));
  }
  if (!options.chart.empty()) {
    require_chart_name(options.chart);
    require_output(options.chart);
  }
  require_one_form(options);
  sort_once(options.lengths);
}

Table kernel_table(const std::vector<AttentionCost>& costs) {
  const NumberFormat time{.style = NumberFormat::Style::fixed, .digits = 1},
      whole{NumberFormat::Style::count, 0};
  Table table({{.title = "length", .format = whole},
               {.title = "kernel", .alignment = Column::Alignment::left},
               {.title = "forward", .key = "forward_ms", .unit = "ms", .format = time},
               {.title = "+ backward", .key = "training_ms", .unit = "ms", .format = time},
               {.title = "memory", .key = "memory_mib", .unit = "MiB", .format = whole}});
  for (const AttentionCost& cost : costs) {
    table.add_row({cost.length, cost.kernel, measured(cost.forward), measured(cost.training),
                   measured(cost.memory, kMebibytes)});
  }
  return table;
}

Table form_table(const std::vector<LinearFormCost>& forms) {
  const NumberFormat time{.style = NumberFormat::Style::fixed, .digits = 2},
      ratio{NumberFormat::Style::fixed, 2};
  Table table({{.title = "length", .format = {NumberFormat::Style::count, 0}},
               {.title = "in chunks", .key = "chunked_ms", .unit = "ms", .format = time},
               {.title = "not causal", .key = "not_causal_ms", .unit = "ms", .format = time},
               {.title = "cumulative", .key = "cumulative_ms", .unit = "ms", .format = time},
               {.title = "chunks / not causal", .key = "over_not_causal", .format = ratio},
               {.title = "cumulative / chunks", .key = "cumulative_over", .format = ratio}});
  const auto quotient = [](double a, double b) {
    return a > 0 && b > 0 ? Cell(a / b) : Cell(std::monostate{});
  };
  for (const LinearFormCost& form : forms) {
    table.add_row({form.length, measured(form.chunked), measured(form.not_causal),
                   measured(form.cumulative), quotient(form.chunked, form.not_causal),
                   quotient(form.cumulative, form.chunked)});
  }
  return table;
}

// On the chart's logarithmic axes, the slope of a line is the power of the length.
LineChart cost_chart(const AttentionBenchmark& result, const std::string& subtitle,
                     double AttentionCost::*figure, const std::string& title,
                     const std::string& unit, double scale) {
  LineChart chart{.title = title + " against length",
                  .subtitle = subtitle,
                  .x = {.title = "length", .unit = "tokens", .scale = Axis::Scale::logarithmic},
                  .y = {.title = title, .unit = unit, .scale = Axis::Scale::logarithmic}};
  for (const AttentionCost& cost : result.costs) {
    const double length = static_cast<double>(cost.length);
    auto line = std::ranges::find(chart.series, cost.kernel, &Series::name);
    if (line == chart.series.end()) {
      line = chart.series.insert(line, Series{.name = cost.kernel});
    }
    if (std::ranges::find(chart.x.ticks, length) == chart.x.ticks.end()) {
      chart.x.ticks.push_back(length);
    }
    if (cost.*figure <= 0) continue;
    line->x.push_back(length);
    line->y.push_back(cost.*figure / scale);
  }
  return chart;
}

std::vector<std::string> crossings(const AttentionBenchmark& result, std::int64_t window) {
  std::vector<std::string> lines;
  for (const std::string& kernel : attention_kernels()) {
    if (kernel == "softmax") continue;
    // A window saves work only in texts that are longer than it.
    const std::int64_t shortest = kernel == "window" ? window + 1 : 0;
    if (const std::optional<double> length = crossing_point(result.costs, kernel, shortest)) {
      lines.push_back(fmt::format("{} is faster than softmax from about {} tokens on", kernel,
                                  format_count(std::llround(*length))));
    }
  }
  return lines;
}

std::vector<std::string> remarks(const AttentionBenchmark& result) {
  std::vector<std::string> lines;
  for (const AttentionCost& cost : result.costs) {
    if (cost.remark.empty()) continue;
    lines.push_back(fmt::format("{} at {}: {}", cost.kernel, cost.length, cost.remark));
  }
  for (const LinearFormCost& form : result.forms) {
    if (!form.remark.empty()) lines.push_back(fmt::format("at {}: {}", form.length, form.remark));
  }
  return lines;
}

void write_charts(const BenchAttentionOptions& options, const AttentionBenchmark& result,
                  const std::string& subtitle) {
  LineChart time =
      cost_chart(result, subtitle, &AttentionCost::training, "time of a pass", "ms", 1);
  LineChart memory =
      cost_chart(result, subtitle, &AttentionCost::memory, "memory of a pass", "MiB", kMebibytes);
  if (is_picture(options.chart)) {
    time.subtitle = memory.subtitle = "";  // the grid shows it
    write_file_atomically(InnerPath::named(options.chart),
                          picture_file(draw(LineChartGrid{.title = "Attention against length",
                                                          .subtitle = subtitle,
                                                          .panels = {time, memory}}),
                                       options.chart));
  } else {
    HtmlReport page({.title = "Attention against length",
                     .subtitle = subtitle,
                     .footer = this_program().footer()});
    page.chart(time);
    page.chart(memory);
    for (const std::string& line : crossings(result, options.window)) page.paragraph(line);
    page.table(kernel_table(result.costs));
    if (!result.forms.empty()) {
      page.table(form_table(result.forms), "Forms of causal linear attention");
    }
    for (const std::string& line : remarks(result)) page.paragraph(line);
    write_file_atomically(InnerPath::named(options.chart), page.html());
  }
  log::info("chart: {}", options.chart);
}

void print(const BenchAttentionOptions& options, const AttentionBenchmark& result,
           const std::string& subtitle) {
  if (options.text()) fmt::print("{}\n\n", subtitle);
  print(kernel_table(result.costs), options, "Attention against length, " + subtitle);
  for (const auto& lines : {crossings(result, options.window), remarks(result)}) {
    if (!lines.empty()) std::cout << '\n';
    for (const std::string& line : lines) print_line(line, options);
  }
  if (result.forms.empty()) return;
  const std::string forms = "forms of causal linear attention, forward and backward";
  if (options.latex) {
    std::cout << '\n';
  } else {
    std::cout << '\n' << forms << "\n\n";
  }
  print(form_table(result.forms), options, forms);
}

void bench_attention(BenchAttentionOptions options) {
  check_options(options);
  const Settings settings = settings_or(options, kLayer);
  const ComputePlan plan = prepare(settings);
  const StopSignals signals("stopping; what was measured is shown");
  const auto passes = options.lengths.size() * (options.kernels.size() + (options.forms ? 3 : 0));
  ProgressBar bar("measuring", passes, "kernels");
  const AttentionBenchmark result = benchmark_attention(
      settings, plan,
      {.kernels = options.kernels,
       .lengths = options.lengths,
       .sequences = options.sequences,
       .repeats = options.repeats,
       .window = options.window,
       .forms = options.forms,
       .longest = options.longest,
       // Uses half of the free memory and leaves the rest to the other tensors and the page cache.
       .memory = static_cast<double>(inspect_machine(".").memory_free) / 2,
       .stopped = [] { return StopSignals::received() != 0; }},
      [&](std::int64_t done, std::int64_t) { bar.advance_to(static_cast<std::uint64_t>(done)); });
  bar.finish(passes);
  const std::string device = device_in_words(plan);
  const std::string precision = to_word(plan.precision);
  const std::string subtitle = fmt::format(
      "a {}attention layer ({} heads, width {}, {}), {}, {}, {}",
      task_facts(settings.task).causal ? "causal " : "", settings.model.heads, settings.model.width,
      settings.position.scheme, device, format_counted(at::get_num_threads(), "thread"), precision);
  if (!options.chart.empty()) write_charts(options, result, subtitle);
  if (options.json) {
    const Origin program = this_program();
    nlohmann::ordered_json document{{"command", program.command},
                                    {"device", device},
                                    {"threads", at::get_num_threads()},
                                    {"precision", precision},
                                    {"heads", settings.model.heads},
                                    {"width", settings.model.width},
                                    {"position", settings.position.scheme},
                                    {"sequences", options.sequences},
                                    {"window", options.window},
                                    {"repeats", options.repeats},
                                    {"version", program.version},
                                    {"commit", program.commit},
                                    {"rows", to_json(kernel_table(result.costs))},
                                    {"crossings", crossings(result, options.window)},
                                    {"remarks", remarks(result)}};
    if (!result.forms.empty()) document["forms"] = to_json(form_table(result.forms));
    std::cout << document.dump(2) << '\n';
  } else {
    print(options, result, subtitle);
  }
  if (const int stopped = StopSignals::received()) throw CLI::RuntimeError(kSignalExit + stopped);
}

}  // namespace

void add_bench_attention(CLI::App& bench) {
  auto options = std::make_shared<BenchAttentionOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "attention",
       .summary = "softmax, window and linear attention against the length: time and memory",
       .details =
           "roformer bench attention --lengths 512,1024,2048,4096,8192 --chart attention.svg\n"
           "Medians of an attention layer with its projections, forward and backward, after one\n"
           "warm-up round; memory as `bench positions` counts it. Without other sizes: one\n"
           "causal sequence, 12 heads, width 768, rope. The counterpart in PyTorch is\n"
           "scripts/peers/attention_lengths.py.\n"});
  add_lengths(*command, options->lengths, "tokens of a sequence")->capture_default_str();
  command->add_option("--kernels", options->kernels, "of softmax, window, elu, favor")
      ->delimiter(',')
      ->capture_default_str();
  add_count(*command, "--batch", options->sequences, "sequences of a pass");
  add_count(*command, "--repeats", options->repeats, "rounds that count");
  add_count(*command, "--window", options->window, "tokens that `window` sees");
  command
      ->add_option("--longest", options->longest,
                   "seconds: what would take longer, judging by its growth so far, is left out")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_flag("--forms", options->forms,
                    "also causal linear attention in chunks, not causal, and with every state "
                    "written out");
  command->add_option("--chart", options->chart,
                      "write both charts, log-log, into FILE.svg, FILE.pdf or FILE.html");
  add_json_flag(*command, *options);
  command->add_flag("--markdown", options->markdown, "the tables as Markdown");
  add_format_flag(*command, *options, {"text", "markdown", "json", "latex"});
  add_config_flag(*command, *options);
  accept_settings(*command, options->overrides);
  command->callback([options] { bench_attention(*options); });
}

}  // namespace roformer
