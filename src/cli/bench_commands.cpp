#include "cli/bench_commands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "config/position_facts.h"
#include "config/suggest.h"
#include "config/words.h"
#include "report/table_format.h"

namespace roformer {

CLI::Option* add_config_flag(CLI::App& command, BenchFlags& flags) {
  return command.add_option("--config", flags.config, "configuration file, for its sizes");
}

void add_json_flag(CLI::App& command, BenchFlags& flags, const std::string& help) {
  command.add_flag("--json", flags.json, help);
}

void add_count(CLI::App& command, const std::string& name, std::int64_t& value,
               const std::string& help) {
  command.add_option(name, value, help)->capture_default_str()->check(positive());
}

CLI::Option* add_lengths(CLI::App& command, std::vector<std::int64_t>& lengths,
                         const std::string& help) {
  return command.add_option("--lengths", lengths, help)
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 20));
}

void sort_once(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

void add_format_flag(CLI::App& command, BenchFlags& flags, const std::vector<std::string>& known) {
  command
      .add_option_function<std::string>(
          "--format",
          [&flags](const std::string& word) {
            flags.json |= word == "json";
            flags.csv |= word == "csv";
            flags.markdown |= word == "markdown";
            flags.latex |= word == "latex";
          },
          fmt::format("format of the table: {}", fmt::join(known, ", ")))
      ->check(CLI::IsMember(known));
}

void require_one_form(const BenchFlags& flags) {
  if (flags.json + flags.csv + flags.markdown + flags.latex <= 1) return;
  throw_usage("--json, --csv, --markdown, --format", "are forms of one table", "one of them");
}

void require_schemes(const std::vector<std::string>& names, bool suggests) {
  for (const std::string& name : names) {
    if (find_position_facts(name) != nullptr) continue;
    const std::string near = suggests ? suggestion(name, position_names()) : "";
    throw_usage("--position", "no scheme is called " + name,
                near.empty() ? "see roformer positions list" : near);
  }
}

Settings load_benchmark_settings(const BenchFlags& flags, std::initializer_list<TaskKind> tasks) {
  Settings settings = load_settings(flags.config, flags.overrides);
  if (std::ranges::find(tasks, settings.task) == tasks.end()) {
    std::vector<std::string> words;
    for (const TaskKind task : tasks) words.push_back(to_word(task));
    throw_usage(
        flags.config,
        fmt::format("task is {}, wanted {}", to_word(settings.task), fmt::join(words, " or ")),
        "a file of configs/bench, or another benchmark");
  }
  if (settings.model.vocabulary == 0) {
    throw_usage("model.vocabulary", "0, but a benchmark has no tokenizer to take it from",
                "add --model.vocabulary 16000, or use a file of configs/bench");
  }
  return settings;
}

Settings settings_or(const BenchFlags& flags, const std::vector<Override>& sizes) {
  if (!flags.config.empty()) return load_settings(flags.config, flags.overrides);
  std::vector<Override> overrides = sizes;
  overrides.insert(overrides.end(), flags.overrides.begin(), flags.overrides.end());
  return default_settings(overrides);
}

ComputePlan prepare(const Settings& settings) {
  prepare_threads(settings.threads);
  return plan_compute(settings.device, settings.training.precision, settings.model.width);
}

std::string device_in_words(const ComputePlan& plan) {
  return plan.device.is_cpu() ? processor_name() : plan.device.str();
}

Cell measured(double value, double unit) {
  if (value < 0) return std::monostate{};
  return value / unit;
}

Column fixed_column(const std::string& title, const std::string& unit, int digits) {
  return {.title = title,
          .unit = unit,
          .format = {.style = NumberFormat::Style::fixed, .digits = digits}};
}

void print(const Table& table, const BenchFlags& flags, const std::string& title) {
  std::cout << formatted(table,
                         flags.latex      ? "latex"
                         : flags.markdown ? "markdown"
                         : flags.csv      ? "csv"
                                          : "text",
                         {.title = title});
}

void print_line(const std::string& line, const BenchFlags& flags) {
  std::cout << (flags.latex ? "% " : "") << line << '\n';
}

}  // namespace roformer
