#include "tasks/language/language_evaluation.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/attention_settings.h"
#include "data/batches.h"
#include "metrics/language.h"
#include "training/signals.h"

namespace roformer {
namespace {

// Rows of a validation batch. The numbers do not depend on it.
constexpr std::int64_t kValidationTokens = 8192;

[[noreturn]] void refuse_without_targets(const Dataset& dataset, Split split) {
  throw_failure(dataset.folder().string(),
                fmt::format("the {} split has no target to predict", to_string(split)),
                fmt::format("a larger {} split, or more data.validation_tokens", to_string(split)));
}

// The hash of an int64 tensor on the CPU, continued from the hash of the earlier data.
std::uint64_t hashed(const at::Tensor& numbers, std::uint64_t before) {
  const at::Tensor contiguous = numbers.contiguous();
  return XXH3_64bits_withSeed(contiguous.const_data_ptr<std::int64_t>(),
                              static_cast<std::size_t>(contiguous.nbytes()), before);
}

// The figures of a validation batch: the numbers of tokens and right answers, then for each row the
// sum of its targets' losses and the number of targets.
enum BatchFigures : std::size_t { kTokens, kCorrect, kRows };

DenominatorFigures of_all_processes(Processes& processes, const DenominatorFigures& own) {
  DenominatorFigures all;
  const std::vector<double> figures = {static_cast<double>(own.count),
                                       static_cast<double>(own.small), own.least};
  for (const std::vector<double>& one : gather_numbers(processes, figures)) {
    all.count += static_cast<std::int64_t>(one[0]);
    all.small += static_cast<std::int64_t>(one[1]);
    all.least = std::min(all.least, one[2]);
  }
  return all;
}

double bits_of(const LanguageEvaluation& evaluation, const Dataset& dataset,
               std::uint64_t SplitCounts::*unit) {
  const SplitCounts& counts = dataset.description()[evaluation.split].counts;
  // The mean loss includes the separators after the documents: they cost bits but are no text.
  const bool separated = dataset.tokenizer().special().separator >= 0;
  const auto targets = static_cast<double>(counts.tokens + (separated ? counts.documents : 0));
  const std::uint64_t units = std::max<std::uint64_t>(1, counts.*unit);
  return bits_per_character(evaluation.loss * targets, static_cast<std::int64_t>(units));
}

}  // namespace

std::unique_ptr<LanguageBatches> ordered_batches(const Settings& settings, const Dataset& dataset,
                                                 Split split, std::int64_t length) {
  return make_language_batches(
      settings, {{dataset}},
      {.split = split,
       .length = length,
       .batches = {.rows = std::max<std::int64_t>(1, kValidationTokens / length),
                   .cross_documents = settings.data.cross_documents}});
}

void require_targets(const LanguageBatches& batches, const Settings& settings,
                     const Dataset& dataset) {
  const std::int64_t limit = settings.data.validation_tokens;
  const Arrangement arrangement = arrange(settings.data.length, {});
  for (std::int64_t n = 0; n < batches.validation_batches(limit); ++n) {
    if (batches.validation(n, limit, arrangement).labels.numel() > 0) return;
  }
  refuse_without_targets(dataset, Split::validation);
}

LanguageEvaluation evaluate_language_batches(const LanguageModel& model, const Settings& settings,
                                             const Dataset& dataset, const LanguageBatches& batches,
                                             const EvaluationOptions& options,
                                             Processes& processes) {
  if (!settings.data.cross_documents &&
      (options.arrangement.drop_middle != 0 || options.arrangement.shuffle_blocks != 0)) {
    throw_usage("--drop-middle, --shuffle-blocks",
                "need rows that are one sequence, but data.cross_documents is false",
                "train and evaluate with data.cross_documents true");
  }
  const std::int64_t length = options.length > 0 ? options.length : settings.data.length;
  const std::int64_t limit = options.tokens > 0 ? options.tokens : settings.data.validation_tokens;
  const Arrangement arrangement = arrange(length, options.arrangement);
  const auto kept = static_cast<std::int64_t>(arrangement.order.size());
  const c10::AutoGradMode no_gradient(false);
  LanguageEvaluation result{.split = options.split};
  std::vector<double> sums(static_cast<std::size_t>(length));
  std::optional<DenominatorCheck> denominators;
  if (uses_linear_attention(settings.attention)) denominators.emplace();
  std::vector<double> counts(static_cast<std::size_t>(length));
  std::uint64_t fingerprint = 0;
  std::vector<std::vector<double>> found;  // of this process's batches, as BatchFigures says
  for_own_batches(
      processes, batches.validation_batches(limit),
      [&](std::int64_t n) {
        const LanguageBatch batch = batches.validation(n, limit, arrangement);
        const std::int64_t targets = batch.labels.numel();
        const auto rows = static_cast<std::size_t>(batch.ids.numel() / kept);
        std::vector<double>& figures = found.emplace_back(kRows + 2 * rows);
        figures[kTokens] = static_cast<double>(batch.ids.numel());
        if (targets == 0) return;
        fingerprint = hashed(batch.labels, fingerprint);
        if (batch.target_positions.defined())
          fingerprint = hashed(batch.target_positions, fingerprint);
        const CrossEntropy loss = model.loss(to_device(batch, model.plan().device),
                                             {.training = false}, arrangement.positions);
        const at::Tensor host = loss.losses.cpu();
        const double* const losses = host.const_data_ptr<double>();
        const std::int64_t* const positions =
            batch.target_positions.defined() ? batch.target_positions.const_data_ptr<std::int64_t>()
                                             : nullptr;
        for (std::int64_t i = 0; i < targets; ++i) {
          const std::int64_t index = positions != nullptr ? positions[i] : i;
          const auto row = static_cast<std::size_t>(index / kept);
          const auto origin =
              static_cast<std::size_t>(arrangement.order[static_cast<std::size_t>(index % kept)]);
          figures[kRows + 2 * row] += losses[i];
          figures[kRows + 2 * row + 1] += 1;
          sums[origin] += losses[i];
          counts[origin] += 1;
        }
        figures[kCorrect] = loss.correct.sum().item<double>();
      },
      options.progress);
  double correct = 0;
  for (const std::vector<double>& figures : in_batch_order(processes, found)) {
    result.tokens += static_cast<std::int64_t>(figures[kTokens]);
    correct += figures[kCorrect];
    for (std::size_t i = kRows; i < figures.size(); i += 2) {
      result.loss_sums_by_row.push_back(figures[i]);
      result.targets_by_row.push_back(static_cast<std::int64_t>(figures[i + 1]));
      result.targets += result.targets_by_row.back();
    }
  }
  sums = sum_numbers(processes, sums);
  counts = sum_numbers(processes, counts);
  if (processes.alone()) result.targets_fingerprint = fingerprint;
  if (denominators) result.denominators = of_all_processes(processes, denominators->figures());
  if (result.targets == 0) refuse_without_targets(dataset, options.split);
  const ClusteredMean mean = clustered_mean(result.loss_sums_by_row, result.targets_by_row);
  result.loss = mean.mean;
  result.standard_error = mean.standard_error;
  // If a loss is NaN, the likeliest pieces are meaningless.
  result.accuracy = std::isfinite(result.loss) ? correct / static_cast<double>(result.targets)
                                               : std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.targets_by_position.push_back(static_cast<std::int64_t>(counts[i]));
    result.losses_by_position.push_back(counts[i] > 0 ? sums[i] / counts[i]
                                                      : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

LanguageEvaluation evaluate_language_model(const LanguageModel& model, const Settings& settings,
                                           const Dataset& dataset,
                                           const EvaluationOptions& options) {
  const std::int64_t length = options.length > 0 ? options.length : settings.data.length;
  dataset.require(options.split);
  return evaluate_language_batches(model, settings, dataset,
                                   *ordered_batches(settings, dataset, options.split, length),
                                   options, *make_single_process());
}

void warn_of_line_ends(const Dataset& dataset) {
  if (dataset.tokenizer().keeps_line_ends() || !dataset.description().counts_line_ends) return;
  log::warn(
      "{} was prepared by an earlier version, which counted line ends that the tokenizer never "
      "sees: bits per character are too low by their share; prepare it again for right ones",
      dataset.folder().string());
}

double bits_of_character(const LanguageEvaluation& evaluation, const Dataset& dataset) {
  return bits_of(evaluation, dataset, &SplitCounts::characters);
}

double bits_of_byte(const LanguageEvaluation& evaluation, const Dataset& dataset) {
  return bits_of(evaluation, dataset, &SplitCounts::bytes);
}

PairedLosses compare_losses(const LanguageEvaluation& first, const LanguageEvaluation& second) {
  if (first.targets_by_row != second.targets_by_row ||
      first.targets_fingerprint != second.targets_fingerprint) {
    throw_usage("--against",
                "the two models have different targets, so their losses cannot be paired",
                "runs of one task, tokenizer and data.masking");
  }
  std::vector<double> differences;
  for (std::size_t row = 0; row < first.loss_sums_by_row.size(); ++row) {
    differences.push_back(second.loss_sums_by_row[row] - first.loss_sums_by_row[row]);
  }
  const ClusteredMean mean = clustered_mean(differences, first.targets_by_row);
  PairedLosses result{.difference = mean.mean,
                      .standard_error = mean.standard_error,
                      .interval = {.low = mean.mean, .high = mean.mean, .degenerate = true},
                      .targets = first.targets,
                      .rows = mean.clusters};
  if (mean.clusters < 2) return result;
  const auto freedom = static_cast<double>(mean.clusters - 1);
  const double reach = student_quantile(0.975, freedom) * mean.standard_error;
  result.interval = {.low = mean.mean - reach, .high = mean.mean + reach};
  if (mean.standard_error > 0) {
    result.p_value = student_two_sided_p(mean.mean / mean.standard_error, freedom);
  }
  return result;
}

namespace {

constexpr std::int64_t kTokensAtATime = 8192;  // that go through the model at a time

// The sequences of a row, which do not attend to each other.
std::vector<std::vector<TokenId>> sequences_of(const Row& row, bool cross_documents) {
  if (cross_documents) return {row.ids};
  std::vector<std::vector<TokenId>> result;
  for (std::size_t i = 0; i < row.document_starts.size(); ++i) {
    const auto begin = row.ids.begin() + row.document_starts[i];
    const auto end = i + 1 < row.document_starts.size()
                         ? row.ids.begin() + row.document_starts[i + 1]
                         : row.ids.end();
    result.emplace_back(begin, end);
  }
  return result;
}

// One copy of the sequence for each of the positions, with that position masked.
MaskedBatch masked_in_turn(std::span<const TokenId> sequence,
                           std::span<const std::int64_t> positions, TokenId mask) {
  MaskedBatch batch;
  batch.rows = static_cast<std::int64_t>(positions.size());
  batch.length = static_cast<std::int64_t>(sequence.size());
  for (const std::int64_t position : positions) {
    const auto begin = static_cast<std::int64_t>(batch.ids.size());
    batch.sequence_starts.push_back(begin);
    batch.ids.insert(batch.ids.end(), sequence.begin(), sequence.end());
    batch.target_positions.push_back(begin + position);
    batch.labels.push_back(sequence[static_cast<std::size_t>(position)]);
    batch.ids[static_cast<std::size_t>(begin + position)] = mask;
  }
  batch.sequence_starts.push_back(static_cast<std::int64_t>(batch.ids.size()));
  return batch;
}

}  // namespace

PseudoPerplexity pseudo_perplexity(const LanguageModel& model, const Dataset& dataset,
                                   const PseudoPerplexityOptions& options) {
  const c10::AutoGradMode no_gradient(false);
  const Tokenizer& tokenizer = dataset.tokenizer();
  const Rows rows(dataset, options.split, {.length = options.length});
  PseudoPerplexity result{.sequences = std::min(options.sequences, rows.size())};
  ProgressBar bar("masking each token in turn", static_cast<std::uint64_t>(result.sequences),
                  "sequences");
  double sum = 0;
  for (std::int64_t number = 0; number < result.sequences; ++number) {
    if (StopSignals::received() != 0) throw ValidationStopped();
    for (const auto& sequence : sequences_of(rows[number], options.cross_documents)) {
      std::vector<std::int64_t> positions;
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        if (!tokenizer.is_special(sequence[i])) positions.push_back(static_cast<std::int64_t>(i));
      }
      const auto length = static_cast<std::int64_t>(sequence.size());
      const auto step =
          static_cast<std::size_t>(std::max<std::int64_t>(1, kTokensAtATime / length));
      for (std::size_t begin = 0; begin < positions.size(); begin += step) {
        const auto part =
            std::span(positions).subspan(begin, std::min(step, positions.size() - begin));
        const LanguageBatch batch = to_device(
            masked_in_turn(sequence, part, tokenizer.special().mask), model.plan().device);
        const CrossEntropy loss =
            model.loss(batch, {.training = false}, Positions::range(options.shift, length));
        sum += loss.losses.sum().item<double>();
        result.tokens += static_cast<std::int64_t>(part.size());
      }
    }
    bar.advance_to(static_cast<std::uint64_t>(number) + 1);
  }
  bar.finish(static_cast<std::uint64_t>(result.sequences));
  if (result.tokens == 0) {
    throw_failure(dataset.folder().string(),
                  fmt::format("the {} split does not fill one row", to_string(options.split)),
                  "a smaller --length, or prepare more text");
  }
  result.loss = sum / static_cast<double>(result.tokens);
  result.value = perplexity(result.loss);
  return result;
}

}  // namespace roformer
