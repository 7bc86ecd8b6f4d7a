#include "tasks/probe/probe_answers.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "base/random.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/probes.h"
#include "metrics/statistics.h"
#include "tasks/task_model.h"
#include "tasks/untrained.h"
#include "tensor/device.h"
#include "training/signals.h"

namespace roformer {
namespace {

constexpr std::int64_t kProbeValidationTokens = 16384;        // of a batch
constexpr std::uint64_t kProbeValidationSeed = 0x70726f6265;  // the same questions in every run

// Sums over the answers of a batch, and the number of symbols in each answer.
struct BatchSums {
  double loss = 0;
  double right = 0;
  double right_symbols = 0;
  double symbols = 0;
};

}  // namespace

ProbeForm probe_form(const Settings& settings, const Tokenizer& tokenizer) {
  return {.kind = settings.probe.kind,
          .mask = task_facts(settings.task).causal ? -1 : tokenizer.special().mask};
}

Settings with_room_for_tests(const Settings& settings) {
  Settings result = settings;
  fit_to(result.position, {.length = settings.data.length * settings.probe.longest,
                           .causal = task_facts(settings.task).causal});
  return result;
}

ProbeBatch probe_batch(const ProbeForm& form, std::int64_t size, std::int64_t rows,
                       std::uint64_t key) {
  const std::int64_t length = probe_length(form.kind, size) - 1;  // the last one predicts nothing
  std::vector<std::int64_t> ids, positions, labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    const ProbeText probe =
        make_probe(form.kind, size, random_key({key, static_cast<std::uint64_t>(row)}));
    const auto id = [&](std::size_t i) {
      return static_cast<std::int64_t>(static_cast<unsigned char>(probe.text[i]));
    };
    const std::size_t begin = ids.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) ids.push_back(id(i));
    for (const std::size_t target : probe.targets) {
      const auto place = static_cast<std::int64_t>(begin + target);
      if (form.masked() && static_cast<std::int64_t>(target) == length) continue;
      if (form.masked()) ids[begin + target] = form.mask;
      positions.push_back(place - (form.masked() ? 0 : 1));
      labels.push_back(id(target));
    }
  }
  ProbeBatch result;
  result.batch = {.ids = copy_to(ids, at::kCPU),
                  .layout = TokenLayout::uniform(rows, length),
                  .target_positions = copy_to(positions, at::kCPU),
                  .labels = copy_to(labels, at::kCPU)};
  result.target_count = static_cast<std::int64_t>(labels.size());
  result.targets_of_row = result.target_count / rows;
  result.tokens = rows * length;
  return result;
}

ProbeAnswers probe_answers(const LanguageModel& model, const ProbeForm& form, std::int64_t size,
                           std::int64_t examples, Processes& processes,
                           const WorkProgress& progress) {
  const c10::AutoGradMode no_gradient(false);
  const std::int64_t at_once =
      std::max<std::int64_t>(1, kProbeValidationTokens / probe_length(form.kind, size));
  ProbeAnswers answers;
  const auto of_batch = [&](std::int64_t n) {
    const std::int64_t done = n * at_once, rows = std::min(at_once, examples - done);
    const ProbeBatch batch =
        probe_batch(form, size, rows,
                    random_key({kProbeValidationSeed, static_cast<std::uint64_t>(size),
                                static_cast<std::uint64_t>(done)}));
    const CrossEntropy loss =
        model.loss(to_device(batch.batch, model.plan().device), {.training = false});
    const at::Tensor correct = loss.correct.view({rows, batch.targets_of_row});
    const at::Tensor whole = correct.all(1).cpu();
    for (std::int64_t row = 0; processes.alone() && row < rows; ++row) {
      answers.answers.push_back(whole[row].item<bool>());
    }
    return BatchSums{.loss = loss.losses.sum().item<double>(),
                     .right = whole.sum().item<double>(),
                     .right_symbols = correct.sum().item<double>(),
                     .symbols = static_cast<double>(batch.target_count)};
  };
  double symbols = 0;
  for (const BatchSums& batch : of_all_batches<BatchSums>(
           processes, (examples + at_once - 1) / at_once, of_batch, progress)) {
    answers.loss += batch.loss;
    answers.right += batch.right;
    answers.right_symbols += batch.right_symbols;
    symbols += batch.symbols;
  }
  answers.loss /= symbols;
  answers.right_symbols /= symbols;
  answers.right /= static_cast<double>(examples);
  return answers;
}

namespace {

struct MeasuredLength {
  std::int64_t length = 0;  // the longest question of at most this many characters
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

// The table with a row for every length. Missing rows look like the first.
Table with_all_rows(const std::vector<MeasuredLength>& measured,
                    const std::vector<std::int64_t>& lengths) {
  std::vector<MeasuredLength> all = measured;
  for (std::size_t i = measured.size(); i < lengths.size(); ++i) {
    all.push_back(measured.front());
    all.back().length = lengths[i];
  }
  return answers_table(all);
}

void print_head(const TrainedModel& trained, const Settings& settings, EvaluationText& text) {
  const ProbeText example = make_probe(settings.probe.kind, 2, 1);
  text.line(fmt::format(
      "{}, position {}{}, {} questions of {} at each length, as {}", trained.checkpoint.string(),
      settings.position.scheme, with_overrides(trained), settings.probe.examples,
      to_word(settings.probe.kind), example.text.substr(0, example.text.size() - 1)));
  text.line("");
}

void require_same_kind(const Settings& settings, const Settings& other, const std::string& name) {
  if (settings.probe.kind == other.probe.kind && settings.task == other.task) return;
  throw_usage("--against", fmt::format("{} answers {} ({}), this run {} ({})", name,
                                       to_word(other.probe.kind), to_word(other.task),
                                       to_word(settings.probe.kind), to_word(settings.task)));
}

// The other probe, which must answer the same questions.
TrainedModel open_other(const Settings& settings, const std::vector<std::int64_t>& lengths,
                        const EvaluationRequest& request) {
  TrainedModel other(request.open_other());
  require_same_kind(settings, other.settings, request.against);
  for (const std::int64_t length : lengths) {
    size_at(other.settings, length, "--against " + request.against);
  }
  return other;
}

}  // namespace

EvaluationResult evaluate_probe(OpenedRun run, const EvaluationRequest& request) {
  const TrainedModel trained(std::move(run));
  Settings settings = trained.settings;
  if (request.questions > 0) settings.probe.examples = request.questions;
  const std::vector<std::int64_t> lengths =
      request.lengths.empty() ? lengths_of_validations(settings) : request.lengths;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t length : lengths) sizes.push_back(size_at(settings, length, "--length"));
  std::optional<TrainedModel> other;
  if (!request.against.empty()) other.emplace(open_other(settings, lengths, request));
  warn_of_untrained_rows(trained, std::ranges::max(lengths));
  const StopSignals signals("stopping; what was measured is shown");
  std::vector<MeasuredLength> measured;
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
      if (request.text == nullptr) continue;
      bar.clear();
      if (i == 0) print_head(trained, settings, *request.text);
      request.text->row(with_all_rows(measured, lengths), i);
    }
    bar.finish(static_cast<std::uint64_t>(passed));
  } catch (const ValidationStopped&) {
    bar.clear();
  }
  EvaluationResult result{.json = to_json(trained, settings, measured)};
  if (measured.size() < lengths.size()) {
    result.json["stopped"] = true;
    result.signal = StopSignals::received();
    result.stopped =
        fmt::format("stopped by a signal after {} of {} lengths", measured.size(), lengths.size());
  }
  for (const MeasuredLength& one : measured) {
    if (!one.against || request.text == nullptr) continue;
    request.text->line("");
    request.text->paragraph(fmt::format("length {}: {}", format_count(one.length),
                                        comparison_text(*one.against, request.against)));
  }
  return result;
}

}  // namespace roformer
