#include "tasks/translation_task.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/input_line.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/language.h"
#include "tasks/shared_batches.h"
#include "text/translation_tokenizers.h"
#include "training/signals.h"

namespace roformer {
namespace {

constexpr std::int64_t kExamples = 3;  // of a validation's translations, in the log

struct TranslationTrainingBatch : TrainingBatch {
  TranslationBatch pairs;
};

TranslationVocabularies vocabularies_of(const ParallelDataset& dataset) {
  const Tokenizer &source = dataset.tokenizer(Side::source),
                  &target = dataset.tokenizer(Side::target);
  // Two ways to cut text may share their pieces, as Opus-MT's do.
  return {.source = source.vocabulary_size(),
          .target = target.vocabulary_size(),
          .joint = same_vocabulary(source, target)};
}

ParallelBatchOptions batch_options(const Settings& settings) {
  const std::int64_t tokens = settings.training.batch_tokens, rows = settings.training.batch;
  return {.tokens = tokens > 0 ? tokens : rows * settings.data.length,
          .sentences = tokens > 0 ? 0 : rows,
          .longest_source = settings.data.length,
          .longest_target = settings.data.length,
          .seed = settings.seed};
}

// Loss and accuracy over whole sets; nothing is too long to be counted.
void add_losses(const Translator& translator, const Settings& settings,
                const ParallelDataset& dataset, ParallelSplit split, Processes& processes,
                TranslationEvaluation& result) {
  const ParallelBatches batches(dataset, split, {.tokens = 4096, .shuffle = false});
  std::vector<std::vector<double>> found;  // of this process's batches
  for (std::int64_t n = processes.rank(); n < batches.batches_per_epoch(); n += processes.count()) {
    processes.alive();
    stop_validation_if_asked(processes);
    const TranslationBatch batch = to_device(to_tensors(batches[n]), translator.plan().device);
    const CrossEntropy entropy =
        translator.loss(batch, {.training = false}, settings.translation.label_smoothing);
    found.push_back({entropy.losses.sum().item<double>(), entropy.loss_sum.item<double>(),
                     entropy.correct.sum().item<double>(),
                     static_cast<double>(batch.labels.numel())});
  }
  std::array<double, 4> sums{};
  for (const std::vector<double>& figures : in_batch_order(processes, found)) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += figures[i];
  }
  result.tokens = static_cast<std::int64_t>(sums[3]);
  result.loss = sums[0] / sums[3];
  result.smoothed_loss = sums[1] / sums[3];
  result.accuracy = sums[2] / sums[3];
}

// The first sentences of a split, as many as there are `texts` of them, each translated by one of
// the processes; blank ones stay blank.
std::vector<std::string> translations(const Translator& translator, const Settings& settings,
                                      const ParallelDataset& dataset, ParallelSplit split,
                                      const std::vector<std::string>& texts, Processes& processes) {
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
  const auto found = translate({&translator}, sources, translation_tokens(words),
                               {.decoding = settings.decoding,
                                .before_group = [&] { stop_validation_if_asked(processes); }});
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    const auto& ids = found[i][0].ids;
    own[numbers[i]] = as_one_line(decode_text(words, std::vector<TokenId>(ids.begin(), ids.end())));
  }
  return in_batch_order(processes, own);
}

void add_scores(const Translator& translator, const Settings& settings,
                const ParallelDataset& dataset, ParallelSplit split, Processes& processes,
                TranslationEvaluation& result) {
  std::int64_t count = dataset.sentences(split);
  if (settings.decoding.sentences > 0) count = std::min(count, settings.decoding.sentences);
  result.references = dataset.text(split, Side::target);
  result.sources = dataset.text(split, Side::source);
  result.references.resize(static_cast<std::size_t>(count));
  result.sources.resize(static_cast<std::size_t>(count));
  const std::vector<std::string> texts =
      translations(translator, settings, dataset, split, result.sources, processes);
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

// Sentences of a validation are as long as they are; a table of positions ends.
void require_positions(const Translator& translator, const ParallelDataset& dataset,
                       ParallelSplit split) {
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

class TranslationTask : public TrainingTask {
 public:
  TranslationTask(const Settings& settings, std::shared_ptr<const ParallelDataset> dataset,
                  const ComputePlan& plan)
      : settings_(settings),
        dataset_(std::move(dataset)),
        translator_(settings, vocabularies_of(*dataset_), plan),
        batches_(*dataset_, ParallelSplit::train, batch_options(settings)) {
    if (dataset_->sentences(ParallelSplit::validation) == 0) {
      throw_failure(dataset_->folder().string(), "has no validation pairs",
                    "prepare it again with a validation set or --validation-fraction 0.02");
    }
    require_positions(translator_, *dataset_, ParallelSplit::validation);
    if (batches_.left_out() > 0) {
      log::info("{} of {} pairs are longer than data.length {} and are not trained on",
                batches_.left_out(), batches_.left_out() + batches_.pairs(), settings.data.length);
    }
  }

  ParameterStore& parameters() override { return translator_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    auto result = std::make_unique<TranslationTrainingBatch>();
    result->pairs = pinned_for(to_tensors(batches_[number]), translator_.plan().device);
    result->target_count = result->pairs.labels.numel();
    result->tokens = result->pairs.target_ids.numel();
    return result;
  }

  double batches_per_epoch() const override {
    return static_cast<double>(batches_.batches_per_epoch());
  }
  double tokens_per_batch() const override {
    const auto& train = dataset_->description()[ParallelSplit::train];
    const double share =
        static_cast<double>(batches_.pairs()) / std::max(1.0, static_cast<double>(train.sentences));
    return static_cast<double>(train[Side::target].tokens) * share / batches_per_epoch();
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& pairs = static_cast<const TranslationTrainingBatch&>(batch).pairs;
    return translator_
        .loss(to_device(pairs, translator_.plan().device), mode,
              settings_.translation.label_smoothing)
        .loss_sum;
  }

  ValidationResult validate(Processes& processes) override {
    const TranslationEvaluation found = evaluate_translator(translator_, settings_, *dataset_,
                                                            ParallelSplit::validation, processes);
    for (std::size_t i = 0; i < std::min<std::size_t>(kExamples, found.hypotheses.size()); ++i) {
      // Spread over the set, the same sentences each time.
      const std::size_t at = i * found.hypotheses.size() / kExamples;
      log::info("  source     {}", found.sources[at]);
      log::info("  reference  {}", found.references[at]);
      log::info("  this model {}", found.hypotheses[at]);
    }
    const TranslationRanking ranking = settings_.translation.ranked_by;
    const bool by_loss =
        ranking == TranslationRanking::loss || ranking == TranslationRanking::smoothed_loss;
    return {.figures = {{"loss", found.loss},
                        {"smoothed_loss", found.smoothed_loss},
                        {"perplexity", perplexity(found.loss)},
                        {"accuracy", found.accuracy},
                        {"bleu", found.bleu},
                        {"chrf", found.chrf}},
            .ranked_by = std::string(task_facts(settings_.task).ranked_by(settings_)),
            .higher_is_better = !by_loss,
            .tokens = found.tokens};
  }

  void save_assets(const std::string& folder) const override {
    save_translation_tokenizers(
        {.source = dataset_->tokenizer(Side::source), .target = dataset_->tokenizer(Side::target)},
        folder);
  }

 private:
  Settings settings_;
  std::shared_ptr<const ParallelDataset> dataset_;
  Translator translator_;
  ParallelBatches batches_;
};

nlohmann::json data_record(const Settings& settings, const ParallelDescription& description) {
  return {{"folder", settings.data.directory.string()},
          {"name", description.name},
          {"fingerprint", hexadecimal(description.fingerprint)},
          {"source_tokenizer_fingerprint", hexadecimal(description.tokenizers[0].fingerprint)},
          {"target_tokenizer_fingerprint", hexadecimal(description.tokenizers[1].fingerprint)},
          {"training_pairs", description[ParallelSplit::train].sentences},
          {"validation_pairs", description[ParallelSplit::validation].sentences}};
}

}  // namespace

OpenedTask open_translation_task(const TaskSources& sources) {
  const Settings& settings = sources.settings;
  const auto dataset = std::make_shared<const ParallelDataset>(settings.data.directory);
  return {.task = std::make_unique<TranslationTask>(settings, dataset, sources.plan),
          .tokenizer = std::shared_ptr<const Tokenizer>(dataset, &dataset->tokenizer(Side::target)),
          .data = data_record(settings, dataset->description())};
}

TranslationEvaluation evaluate_translator(const Translator& translator, const Settings& settings,
                                          const ParallelDataset& dataset, ParallelSplit split,
                                          Processes& processes) {
  require_positions(translator, dataset, split);
  const c10::AutoGradMode no_gradient(false);
  TranslationEvaluation result{.target_language = dataset.description().languages.target};
  add_losses(translator, settings, dataset, split, processes, result);
  add_scores(translator, settings, dataset, split, processes, result);
  return result;
}

}  // namespace roformer
