// `roformer estimate`: what a training will take, before it begins.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "bench/estimate.h"
#include "bench/measured_devices.h"
#include "cli/bench_commands.h"
#include "cli/command.h"
#include "config/load.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/declaration/study_settings.h"
#include "runs/model_source.h"

namespace roformer {
namespace {

struct EstimateOptions : BenchFlags {
  EstimateRequest request;
  std::int64_t steps = 10;
  bool measures = false;
};

// "3.28 G", "626 k", "64".
std::string short_count(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.3g}{}", value, kUnits[unit]);
}

std::string flop_words(double gflop) {
  const std::string count = short_count(gflop * 1e9);
  return count + (count.find(' ') == std::string::npos ? " FLOP" : "FLOP");
}

std::string hours_words(double hours) {
  if (hours * 3600 < 60) return fmt::format("{:.1f} s", hours * 3600);
  if (hours < 1) return fmt::format("{:.1f} min", hours * 60);
  return fmt::format("{:.3g} h", hours);
}

std::string device_words(const TrainingEstimate& estimate) {
  return estimate.processes == 1 ? estimate.device
                                 : fmt::format("{} {}", estimate.processes, estimate.device);
}

nlohmann::ordered_json to_json(const MemoryEstimate& memory) {
  return {{"weights", memory.weights},
          {"gradients", memory.gradients},
          {"optimizer", memory.moments},
          {"average", memory.average},
          {"activations", memory.activations},
          {"logits", memory.logits},
          {"total", memory.total()}};
}

nlohmann::ordered_json to_json(const TrainingEstimate& estimate) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::object();
  for (const ParameterPart& part : estimate.parameters) parts[part.name] = part.count;
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const EstimatedStage& stage : estimate.stages) {
    nlohmann::ordered_json object = {{"steps", stage.steps},
                                     {"length", stage.length},
                                     {"rows", stage.rows},
                                     {"tokens", stage.tokens},
                                     {"gflop", stage.gflop},
                                     {"passes", stage.passes},
                                     {"memory_bytes", to_json(stage.memory)}};
    if (estimate.time) object["step_ms"] = 1e3 * stage.seconds;
    stages.push_back(std::move(object));
  }
  nlohmann::ordered_json object = {{"task", to_word(estimate.settings.task)},
                                   {"position", estimate.settings.position.scheme},
                                   {"device", estimate.device},
                                   {"precision", to_word(estimate.plan.precision)},
                                   {"processes", estimate.processes},
                                   {"parameters", estimate.count},
                                   {"parameters_by_part", parts},
                                   {"steps", estimate.steps()},
                                   {"tokens", estimate.tokens()},
                                   {"gflop", estimate.gflop()},
                                   {"memory_bytes", to_json(estimate.memory())},
                                   {"checkpoint_bytes", estimate.checkpoint},
                                   {"checkpoints", estimate.checkpoints},
                                   {"stages", stages}};
  if (const auto& time = estimate.time) {
    object["hours"] = time->hours;
    object["least_hours"] = time->least;
    object["most_hours"] = time->most;
    object["tokens_per_s"] = time->tokens_per_second;
    object["gflops_per_s"] = time->gflops_per_second;
    object["efficiency"] = time->efficiency;
    object["source"] = time->source;
  }
  object["assumptions"] = estimate.assumptions;
  return object;
}

// One row, for a page that compares trainings.
Table to_table(const TrainingEstimate& estimate, const std::string& name) {
  const auto left = [](const std::string& title) {
    return Column{.title = title, .alignment = Column::Alignment::left};
  };
  Table table({left("training"), left("on"), left("parameters"), left("steps"), left("tokens"),
               left("FLOP"), left("memory of each"), left("checkpoint"), left("time")});
  const auto& time = estimate.time;
  table.add_row({name, device_words(estimate), short_count(static_cast<double>(estimate.count)),
                 short_count(estimate.steps()), short_count(estimate.tokens()),
                 short_count(estimate.gflop() * 1e9), format_bytes(estimate.memory().total()),
                 format_bytes(estimate.checkpoint),
                 time ? fmt::format("{} ({} to {})", hours_words(time->hours),
                                    hours_words(time->least), hours_words(time->most))
                      : "unknown"});
  return table;
}

void print_line(const std::string& name, const std::string& text) {
  constexpr std::size_t kNames = 12;
  fmt::print("{:<{}}{}\n", name, kNames, text);
}

std::string stage_words(const TrainingEstimate& estimate, const EstimatedStage& stage) {
  const bool pairs = estimate.settings.task == TaskKind::translation;
  std::string text = fmt::format("{} {}, {} tokens, {}", format_count(std::llround(stage.rows)),
                                 pairs ? "pairs" : fmt::format("rows of {} at most", stage.length),
                                 format_count(std::llround(stage.tokens)), flop_words(stage.gflop));
  if (stage.passes > 1) text += fmt::format(", in {} passes", stage.passes);
  if (estimate.time) text += fmt::format(", {:.1f} ms", 1e3 * stage.seconds);
  return text;
}

void print_text(const TrainingEstimate& estimate, const std::string& file) {
  fmt::print("{}: {}, position {}, {} on {}\n", file, task_facts(estimate.settings.task).title,
             estimate.settings.position.scheme, to_word(estimate.plan.precision),
             device_words(estimate));
  std::vector<std::string> parts;
  for (const ParameterPart& part : estimate.parameters) {
    parts.push_back(part.name + " " + format_count(part.count));
  }
  print_line("parameters",
             fmt::format("{}: {}", format_count(estimate.count), fmt::join(parts, ", ")));
  for (std::size_t i = 0; i < estimate.stages.size(); ++i) {
    const EstimatedStage& stage = estimate.stages[i];
    if (estimate.stages.size() == 1) {
      print_line("a step", stage_words(estimate, stage));
    } else {
      print_line(fmt::format("stage {}", i + 1),
                 fmt::format("{} steps of {}", format_count(std::llround(stage.steps)),
                             stage_words(estimate, stage)));
    }
  }
  print_line("the run",
             fmt::format("{} steps, {} tokens, {}", format_count(std::llround(estimate.steps())),
                         short_count(estimate.tokens()), flop_words(estimate.gflop())));
  const MemoryEstimate& memory = estimate.memory();
  std::string bytes =
      fmt::format("{}{}: weights {}, gradients {}, optimiser {}", format_bytes(memory.total()),
                  estimate.processes > 1 ? " of each process" : "", format_bytes(memory.weights),
                  format_bytes(memory.gradients), format_bytes(memory.moments));
  if (memory.average > 0) bytes += ", average " + format_bytes(memory.average);
  bytes += ", activations " + format_bytes(memory.activations);
  if (memory.logits > 0) bytes += ", logits " + format_bytes(memory.logits);
  print_line("memory", bytes);
  print_line("checkpoint", fmt::format("{}, at most {} kept", format_bytes(estimate.checkpoint),
                                       estimate.checkpoints));
  if (const auto& time = estimate.time) {
    print_line(
        "time",
        fmt::format("{} ({} to {}), without validations: {} tokens/s, {}/s{}",
                    hours_words(time->hours), hours_words(time->least), hours_words(time->most),
                    short_count(time->tokens_per_second), flop_words(time->gflops_per_second),
                    estimate.processes > 1
                        ? fmt::format(", {:.0f} % of the time computing", 100 * time->efficiency)
                        : ""));
    print_line("speed", time->source);
  }
  for (const std::string& sentence : estimate.assumptions) print_line("assumed", sentence);
}

void estimate(const EstimateOptions& options) {
  if (is_study(options.config)) {
    throw_usage(options.config, "is a study of several trainings",
                "estimate the file that it extends, with the keys of one training");
  }
  const Settings settings = load_settings(options.config, options.overrides, model_source_keys);
  EstimateRequest request = options.request;
  if (request.device == "auto" || request.device == "cuda") request.device.clear();
  if (options.measures && find_measured_device(request.device) != nullptr) {
    throw_usage("--measure", "times steps on this machine, not on a device by name",
                "leave --device " + request.device + " out");
  }
  if (options.measures) {
    prepare(settings);
    request.measured_steps = options.steps;
  }
  const TrainingEstimate found = [&] {
    const ElapsedLine elapsed(options.measures ? "measuring" : "estimating");
    return estimate_training(settings, request);
  }();
  if (options.json) {
    std::cout << to_json(found).dump(2) << '\n';
  } else if (options.markdown) {
    print(to_table(found, settings.run), options);
  } else {
    print_text(found, options.config);
  }
}

}  // namespace

void add_estimate_command(CLI::App& program) {
  auto options = std::make_shared<EstimateOptions>();
  CLI::App* command = add_listed_command(
      program, "estimate",
      "  roformer estimate configs/pretraining/bert-base.yaml --device h100 --processes 8\n"
      "FLOP are those of matrix products, attention included: 2 for each multiply-add,\n"
      "3 times as many for forward and backward pass. Memory is that of tensors.\n"
      "Times come from measured steps of a device, or with --measure from this machine.\n"
      "The data need not be there: --vocabulary, --examples and --tokens say what they hold.\n");
  command->add_option("config", options->config, "configuration file (YAML)")->required();
  std::vector<std::string> devices{"auto", "cpu", "cuda"};
  for (const MeasuredDevice& device : measured_devices()) devices.emplace_back(device.name);
  command
      ->add_option(
          "--device", options->request.device,
          fmt::format("what it trains on: {}; auto: this machine", fmt::join(devices, ", ")))
      ->check(CLI::IsMember(devices));
  command
      ->add_option("--processes", options->request.processes,
                   "processes that share the rows of a step, each with such a device")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}));
  command->add_flag("--measure", options->measures,
                    "time steps on this machine, on the data or on random tokens");
  command->add_option("--steps", options->steps, "steps that --measure times, after 3 others")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}));
  command
      ->add_option("--vocabulary", options->request.vocabulary,
                   "size of the vocabulary, where the data are not prepared")
      ->check(positive());
  command
      ->add_option("--examples", options->request.examples,
                   "training examples (or rows, or pairs), where the data are not there")
      ->check(positive());
  command
      ->add_option("--tokens", options->request.tokens_of_example,
                   "tokens of an example in the mean, where the data are not there")
      ->check(positive());
  add_json_flag(*command, *options);
  add_format_flag(*command, *options, {"text", "json", "markdown"});
  accept_settings(*command, options->overrides);
  command->callback([options] { estimate(*options); });
}

}  // namespace roformer
