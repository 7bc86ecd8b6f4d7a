#include "tasks/translation_evaluation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/blank.h"
#include "base/error.h"
#include "base/printable.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "tasks/shared_batches.h"
#include "tasks/translation_search.h"

namespace roformer {
namespace {

// Sums over the tokens of a batch.
struct TokenSums {
  double loss = 0;
  double smoothed_loss = 0;
  double correct = 0;
  double tokens = 0;
};

// Loss and accuracy over whole sets; nothing is too long to be counted.
void add_losses(const Translator& translator, const Settings& settings,
                const ParallelDataset& dataset, Split split, Processes& processes,
                TranslationEvaluation& result) {
  const ParallelBatches batches(dataset, split, {.tokens = 4096, .shuffle = false});
  const auto of_batch = [&](std::int64_t n) {
    const TranslationBatch batch = to_device(to_tensors(batches[n]), translator.plan().device);
    const CrossEntropy entropy =
        translator.loss(batch, {.training = false}, settings.translation.label_smoothing);
    return TokenSums{.loss = entropy.losses.sum().item<double>(),
                     .smoothed_loss = entropy.loss_sum.item<double>(),
                     .correct = entropy.correct.sum().item<double>(),
                     .tokens = static_cast<double>(batch.labels.numel())};
  };
  TokenSums all;
  for (const TokenSums& batch :
       of_all_batches<TokenSums>(processes, batches.batches_per_epoch(), of_batch)) {
    all.loss += batch.loss;
    all.smoothed_loss += batch.smoothed_loss;
    all.correct += batch.correct;
    all.tokens += batch.tokens;
  }
  result.tokens = static_cast<std::int64_t>(all.tokens);
  result.loss = all.loss / all.tokens;
  result.smoothed_loss = all.smoothed_loss / all.tokens;
  result.accuracy = all.correct / all.tokens;
}

// The first sentences of a split, as many as there are `texts` of them, each translated by one of
// the processes; blank ones stay blank.
std::vector<std::string> translations(const Translator& translator, const Settings& settings,
                                      const ParallelDataset& dataset, Split split,
                                      const std::vector<std::string>& texts, Processes& processes,
                                      const WorkProgress& progress) {
  const std::int64_t count = std::ssize(texts);
  std::vector<std::string> own;
  std::vector<std::size_t> numbers;  // in `own`, of the sentences that are not blank
  std::vector<std::vector<TokenId>> sources;
  for (std::int64_t i = processes.rank(); i < count; i += processes.count()) {
    own.emplace_back();
    if (is_blank(texts[static_cast<std::size_t>(i)])) continue;
    numbers.push_back(own.size() - 1);
    sources.push_back(dataset.sentence(split, Side::source, i));
  }
  const std::shared_ptr<void> busy = processes.busy();
  const Tokenizer& words = dataset.tokenizer(Side::target);
  InferenceWeights weights;
  translator.add_to(weights);
  const InferenceWeights::Use use(&weights);
  std::int64_t done = 0;
  const auto found = translate({&translator}, sources, translation_tokens(words),
                               {.decoding = settings.decoding,
                                .before_group = [&] { stop_validation_if_asked(processes); },
                                .after_group =
                                    [&](std::int64_t sentences) {
                                      done += sentences;
                                      if (progress) progress(done, std::ssize(sources));
                                    }});
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    const auto& ids = found[i][0].ids;
    own[numbers[i]] = as_one_line(decode_text(words, std::vector<TokenId>(ids.begin(), ids.end())));
  }
  return in_batch_order(processes, own);
}

void add_scores(const Translator& translator, const Settings& settings,
                const ParallelDataset& dataset, Split split, Processes& processes,
                const WorkProgress& progress, TranslationEvaluation& result) {
  std::int64_t count = dataset.sentences(split);
  if (settings.decoding.sentences > 0) count = std::min(count, settings.decoding.sentences);
  result.references = dataset.text(split, Side::target);
  result.sources = dataset.text(split, Side::source);
  result.references.resize(static_cast<std::size_t>(count));
  result.sources.resize(static_cast<std::size_t>(count));
  const std::vector<std::string> texts =
      translations(translator, settings, dataset, split, result.sources, processes, progress);
  CorpusBleu bleu(bleu_for(result.target_language));
  Chrf chrf{ChrfSettings{}};
  std::vector<double> sums(chrf.width());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    const std::string_view reference = result.references[i];
    bleu.add(text, {reference});
    const std::vector<double> row = chrf.row(text, std::span(&reference, 1));
    for (std::size_t k = 0; k < row.size(); ++k) sums[k] += row[k];
    result.hypotheses.push_back(text);
  }
  const BleuScore score = bleu.score();
  result.bleu = score.score;
  result.bleu_signature = score.signature;
  result.chrf = chrf.describe(sums).score;
}

}  // namespace

void require_positions(const Translator& translator, const ParallelDataset& dataset, Split split) {
  for (const Side side : {Side::source, Side::target}) {
    const std::int64_t last =
        side == Side::source ? translator.longest_source() : translator.longest_target();
    const auto longest = static_cast<std::int64_t>(dataset.description()[split][side].longest);
    if (last == 0 || longest <= last) continue;
    throw_usage(dataset.folder().string(),
                fmt::format("has a {} of {} tokens in its {} set, and the table of positions ends "
                            "at {}",
                            to_string(side), longest, to_string(split), last),
                "a table of more positions, or a set of shorter sentences");
  }
}

TranslationEvaluation evaluate_translator(const Translator& translator, const Settings& settings,
                                          const ParallelDataset& dataset, Split split,
                                          Processes& processes, const WorkProgress& progress) {
  require_positions(translator, dataset, split);
  const c10::AutoGradMode no_gradient(false);
  TranslationEvaluation result{.target_language = dataset.description().languages.target};
  add_losses(translator, settings, dataset, split, processes, result);
  add_scores(translator, settings, dataset, split, processes, progress, result);
  return result;
}

}  // namespace roformer
