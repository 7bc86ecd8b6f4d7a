// `roformer bench devices`: checks whether a device trains as the CPU does.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bench/device_equality.h"
#include "cli/bench_commands.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/words.h"

namespace roformer {
namespace {

struct BenchDevicesOptions : BenchFlags {
  std::vector<std::string> schemes;
  std::int64_t steps = 100;
};

// Heads of 16 features, for which GPUs have kernels; an unfavourable length; and windows that end
// within a row, so that there are far pairs.
const std::vector<Override> kSmall{{"model.layers", "2"},
                                   {"model.width", "64"},
                                   {"model.heads", "4"},
                                   {"model.feed_forward", "128"},
                                   {"model.vocabulary", "500"},
                                   {"model.dropout", "0.1"},
                                   {"data.length", "140"},
                                   {"training.batch", "4"},
                                   {"training.learning_rate", "1e-3"},
                                   {"position.rerope.window", "40"},
                                   {"position.self_extend.window", "40"},
                                   {"position.streaming.recent", "100"}};

void print(const SchemeEquality& result) {
  const std::string name = result.scheme + (result.causal ? " (causal)" : "");
  if (!result.problem.empty()) {
    fmt::print("{:<30} NOT RUN: {}\n", name, result.problem);
    return;
  }
  std::string graphs;
  if (result.graphs > 0) {
    graphs = fmt::format("; {} passes by graphs, apart from those without by {:.1e}", result.graphs,
                         result.of_graphs);
  }
  if (!result.without_graphs.empty()) graphs += "; no more graphs: " + result.without_graphs;
  fmt::print("{:<30} losses {:.4f} .. {:.4f}, apart by {:.1e} at most (allowed {:.1e}){}{}\n", name,
             result.host.front(), result.host.back(), result.difference, result.allowed, graphs,
             result.passed() ? "" : ": MISSED");
}

nlohmann::ordered_json to_json(const SchemeEquality& result) {
  return {{"scheme", result.scheme},
          {"causal", result.causal},
          {"host", result.host},
          {"device", result.device},
          {"difference", result.difference},
          {"graphs", result.graphs},
          {"without_graphs", result.without_graphs},
          {"of_graphs", result.of_graphs},
          {"allowed", result.allowed},
          {"passed", result.passed()},
          {"problem", result.problem}};
}

void print(const AttentionEquality& attention) {
  if (!attention.problem.empty()) {
    fmt::print("attention by tiles: NOT RUN: {}\n", attention.problem);
    return;
  }
  fmt::print("attention by tiles: {} cases, apart by {:.1e} at most ({}; allowed {:.1e}){}\n",
             attention.cases, attention.difference, attention.worst, kAllowedAttentionDifference,
             attention.passed() ? "" : ": MISSED");
}

nlohmann::ordered_json to_json(const AttentionEquality& attention) {
  return {{"cases", attention.cases},     {"difference", attention.difference},
          {"worst", attention.worst},     {"allowed", kAllowedAttentionDifference},
          {"passed", attention.passed()}, {"problem", attention.problem}};
}

void bench_devices(const BenchDevicesOptions& options) {
  require_schemes(options.schemes, /*suggests=*/false);
  const Settings settings = settings_or(options, kSmall);
  const ComputePlan plan = prepare(settings);
  const MaskEquality masks = compare_dropout(plan);
  const AttentionEquality attention = compare_attention(plan.device);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  // A device without tiled attention uses LibTorch's attention, which the schemes test.
  bool passed = masks.different == 0 && (attention.passed() || !attention.problem.empty());
  const auto schemes = options.schemes.empty() ? position_names() : options.schemes;
  const auto results =
      compare_devices(settings, plan, {.schemes = schemes, .steps = options.steps},
                      [&](const SchemeEquality& result) {
                        passed = passed && result.passed();
                        options.json ? rows.push_back(to_json(result)) : print(result);
                      });
  const std::string precision = to_word(plan.precision);
  if (options.json) {
    std::cout << nlohmann::ordered_json{{"device", plan.device.str()},
                                        {"precision", precision},
                                        {"steps", options.steps},
                                        {"masks", masks.masks},
                                        {"different_masks", masks.different},
                                        {"attention", to_json(attention)},
                                        {"schemes", rows}}
                     .dump()
              << '\n';
  } else {
    fmt::print("dropout: {} of {} masks differ\n", masks.different, masks.masks);
    print(attention);
  }
  if (passed) return;
  throw_failure(
      "bench devices",
      fmt::format("{} in {} does not train as the CPU does: {} of {} schemes missed",
                  plan.device.str(), precision,
                  std::ranges::count_if(results, [](const auto& r) { return !r.passed(); }),
                  results.size()));
}

}  // namespace

void add_bench_devices(CLI::App& bench) {
  auto options = std::make_shared<BenchDevicesOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "devices",
       .summary = "whether a device trains as the CPU does: losses, attention, dropout masks",
       .details = "A small model takes the same steps by this program's own loops on the "
                  "CPU and by the operations\nof the device; where --device is cpu, by "
                  "those that a GPU takes, on the CPU. Exit code 1 where\nlosses are "
                  "further apart than rounding allows. Sizes are settings: --model.width 256."});
  add_count(*command, "--steps", options->steps, "steps of each scheme");
  command->add_option("--position", options->schemes, "schemes, by commas; all if none is named")
      ->delimiter(',');
  add_json_flag(*command, *options);
  accept_settings(*command, options->overrides);
  command->callback([options] { bench_devices(*options); });
}

}  // namespace roformer
