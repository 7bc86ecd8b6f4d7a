#include "cli/evaluate_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "config/words.h"
#include "metrics/proportions.h"
#include "report/table.h"
#include "runs/answer_comparison.h"
#include "runs/untrained.h"
#include "tasks/probe_answers.h"
#include "tensor/device.h"

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
                       std::int64_t size) {
  const std::int64_t examples = settings.probe.examples;
  const auto alone = make_single_process();
  MeasuredLength result{
      .length = length,
      .answers = probe_answers(*trained.model, probe_form(settings, *trained.tokenizer), size,
                               examples, *alone)};
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
  std::vector<MeasuredLength> measured;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    prepare_threads(settings.threads);
    MeasuredLength& one = measured.emplace_back(measure(trained, settings, lengths[i], sizes[i]));
    if (!other) continue;
    prepare_threads(other->settings.threads);
    const MeasuredLength second = measure(*other, settings, lengths[i], sizes[i]);
    one.against = compare_answers(one.answers.answers, second.answers.answers);
  }
  if (options.json) {
    std::cout << to_json(trained, settings, measured).dump(2) << '\n';
    return;
  }
  const ProbeText example = make_probe(settings.probe.kind, 2, 1);
  std::cout << fmt::format("{}, position {}{}, {} questions of {} at each length, as {}\n\n{}",
                           trained.checkpoint.string(), settings.position.scheme,
                           with_overrides(trained), settings.probe.examples,
                           to_word(settings.probe.kind),
                           example.text.substr(0, example.text.size() - 1),
                           to_text(answers_table(measured), {.width = terminal_width()}));
  for (const MeasuredLength& one : measured) {
    if (!one.against) continue;
    const std::string text = fmt::format("length {}: {}", format_count(one.length),
                                         comparison_text(*one.against, options.against));
    std::cout << '\n' << wrapped(text, terminal_width()) << '\n';
  }
}

}  // namespace roformer
