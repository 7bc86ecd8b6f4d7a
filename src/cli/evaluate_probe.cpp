#include "cli/evaluate_probe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "config/words.h"
#include "metrics/statistics.h"
#include "report/table.h"
#include "runs/answer_comparison.h"
#include "runs/untrained.h"
#include "tasks/probe_answers.h"
#include "tensor/device.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct MeasuredLength {
  std::int64_t length = 0;  // of the longest question of at most so many characters
  ProbeAnswers answers;
  Interval interval;
  std::optional<AnswerComparison> against;
};

std::vector<std::int64_t> lengths_of_validations(const Settings& settings) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t times = 1; times <= settings.probe.longest; times *= 2) {
    lengths.push_back(times * settings.data.length);
  }
  return lengths;
}

std::int64_t size_at(const Settings& settings, std::int64_t length, const std::string& what) {
  constexpr std::int64_t kLongest = 1 << 20;  // as data.length
  const ProbeKind kind = settings.probe.kind;
  const std::int64_t size = probe_size(kind, length);
  const std::optional<std::int64_t> longest = longest_probe(kind);
  if (size == 0 || size > largest_probe(kind) || length > kLongest) {
    throw_usage(what,
                fmt::format("{} {} of {}", length,
                            size == 0 ? "does not hold the smallest question"
                                      : "is more than the longest question",
                            to_word(kind)),
                fmt::format("{} to {}", probe_length(kind, 1),
                            std::min(longest.value_or(kLongest), kLongest)));
  }
  require_positions(settings, what, probe_length(kind, size));
  return size;
}

MeasuredLength measure(const TrainedModel& trained, const Settings& settings, std::int64_t length,
                       std::int64_t size, const WorkProgress& progress) {
  const std::int64_t examples = settings.probe.examples;
  const auto alone = make_single_process();
  MeasuredLength result{
      .length = length,
      .answers = probe_answers(*trained.model, probe_form(settings, *trained.tokenizer), size,
                               examples, *alone, progress)};
  const auto right = std::llround(result.answers.right * static_cast<double>(examples));
  result.interval = wilson_interval(right, examples);
  return result;
}

Table answers_table(const std::vector<MeasuredLength>& measured) {
  const NumberFormat percent{NumberFormat::Style::percent, 1};
  Table table({{.title = "length", .format = {NumberFormat::Style::count, 0}},
               {.title = "answers right", .format = percent},
               {.title = "95 % from", .format = percent},
               {.title = "to", .format = percent},
               {.title = "symbols right", .format = percent},
               {.title = "loss", .format = {NumberFormat::Style::fixed, 4}}});
  for (const MeasuredLength& one : measured) {
    table.add_row({one.length, one.answers.right, one.interval.low, one.interval.high,
                   one.answers.right_symbols, one.answers.loss});
  }
  return table;
}

nlohmann::ordered_json to_json(const TrainedModel& trained, const Settings& settings,
                               const std::vector<MeasuredLength>& measured) {
  nlohmann::ordered_json object = {{"model", trained.checkpoint.string()},
                                   {"position", settings.position.scheme},
                                   {"kind", to_word(settings.probe.kind)},
                                   {"examples", settings.probe.examples},
                                   {"evaluations", nlohmann::ordered_json::array()}};
  for (const MeasuredLength& one : measured) {
    object["evaluations"].push_back({{"length", one.length},
                                     {"accuracy", one.answers.right},
                                     {"accuracy_low", one.interval.low},
                                     {"accuracy_high", one.interval.high},
                                     {"symbol_accuracy", one.answers.right_symbols},
                                     {"loss", one.answers.loss}});
    if (one.against) object["evaluations"].back()["against"] = to_json(*one.against);
  }
  if (const auto changed = overrides_json(trained); !changed.empty()) object["overrides"] = changed;
  return object;
}

// The table with a row for every length; those that are missing are like the first.
Table with_all_rows(const std::vector<MeasuredLength>& measured,
                    const std::vector<std::int64_t>& lengths) {
  std::vector<MeasuredLength> all = measured;
  for (std::size_t i = measured.size(); i < lengths.size(); ++i) {
    all.push_back(measured.front());
    all.back().length = lengths[i];
  }
  return answers_table(all);
}

void print_head(const TrainedModel& trained, const Settings& settings) {
  const ProbeText example = make_probe(settings.probe.kind, 2, 1);
  std::cout << fmt::format("{}, position {}{}, {} questions of {} at each length, as {}\n\n",
                           trained.checkpoint.string(), settings.position.scheme,
                           with_overrides(trained), settings.probe.examples,
                           to_word(settings.probe.kind),
                           example.text.substr(0, example.text.size() - 1));
}

void require_same_kind(const Settings& settings, const Settings& other, const std::string& name) {
  if (settings.probe.kind == other.probe.kind && settings.task == other.task) return;
  throw_usage("--against", fmt::format("{} answers {} ({}), this run {} ({})", name,
                                       to_word(other.probe.kind), to_word(other.task),
                                       to_word(settings.probe.kind), to_word(settings.task)));
}

}  // namespace

void evaluate_probe(const TrainedModel& trained, const ProbeEvaluation& options) {
  Settings settings = trained.settings;
  if (options.questions > 0) settings.probe.examples = options.questions;
  const std::vector<std::int64_t> lengths =
      options.lengths.empty() ? lengths_of_validations(settings) : options.lengths;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t length : lengths) sizes.push_back(size_at(settings, length, "--length"));
  std::optional<TrainedModel> other;
  if (!options.against.empty()) {
    TrainedModelOptions opening = options.opening;
    opening.overrides = computing_overrides(opening.overrides);
    other.emplace(open_trained_probe(options.against, opening));
    require_same_kind(settings, other->settings, options.against);
    for (const std::int64_t length : lengths) {
      size_at(other->settings, length, "--against " + options.against);
    }
  }
  warn_of_untrained_rows(trained, std::ranges::max(lengths));
  const StopSignals signals("stopping; what was measured is shown");
  std::vector<MeasuredLength> measured;
  std::optional<TextTableRows> rows;
  std::int64_t all = 0, passed = 0;  // characters of the questions, each model's
  for (const std::int64_t length : lengths) all += (other ? 2 : 1) * length;
  ProgressBar bar("answering", static_cast<std::uint64_t>(all * settings.probe.examples),
                  "characters");
  bar.begin();
  const auto measure_with = [&](const TrainedModel& model, std::size_t i) {
    prepare_threads(model.settings.threads);
    const std::int64_t work = lengths[i] * settings.probe.examples;
    MeasuredLength one =
        measure(model, settings, lengths[i], sizes[i], [&](std::int64_t done, std::int64_t of) {
          bar.advance_to(static_cast<std::uint64_t>(passed + work * done / of));
        });
    passed += work;
    return one;
  };
  try {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      MeasuredLength one = measure_with(trained, i);
      if (other) {
        one.against = compare_answers(one.answers.answers, measure_with(*other, i).answers.answers);
      }
      measured.push_back(std::move(one));
      if (options.json) continue;
      bar.clear();
      const Table table = with_all_rows(measured, lengths);
      if (!rows) {
        rows.emplace(table, TextTableOptions{.width = terminal_width()});
        print_head(trained, settings);
        std::cout << rows->head(table);
      }
      std::cout << rows->row(table, i) << std::flush;
    }
    bar.finish(static_cast<std::uint64_t>(passed));
  } catch (const ValidationStopped&) {
    bar.clear();
  }
  const bool stopped = measured.size() < lengths.size();
  if (options.json) {
    nlohmann::ordered_json object = to_json(trained, settings, measured);
    if (stopped) object["stopped"] = true;
    std::cout << object.dump(2) << '\n';
  }
  for (const MeasuredLength& one : measured) {
    if (!one.against || options.json) continue;
    const std::string text = fmt::format("length {}: {}", format_count(one.length),
                                         comparison_text(*one.against, options.against));
    std::cout << '\n' << wrapped(text, terminal_width()) << '\n';
  }
  if (!stopped) return;
  std::cerr << fmt::format("stopped by a signal after {} of {} lengths\n", measured.size(),
                           lengths.size());
  throw CLI::RuntimeError(kSignalExit + StopSignals::received());
}

}  // namespace roformer
