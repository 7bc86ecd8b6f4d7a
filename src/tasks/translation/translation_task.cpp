// Translation with an encoder-decoder: pairs of a prepared parallel corpus, the label-smoothed
// loss, validation by negative log likelihood and by BLEU and chrF of real decoding.
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "metrics/language.h"
#include "tasks/data_record.h"
#include "tasks/task_definition.h"
#include "tasks/translation/translation_evaluation.h"
#include "tasks/translation/translator.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace {

constexpr std::int64_t kExamples = 3;  // of a validation's translations, in the log

struct TranslationTrainingBatch : TrainingBatch {
  TranslationBatch pairs;
};

TranslationVocabularies vocabularies_of(const ParallelDataset& dataset) {
  const Tokenizer &source = dataset.tokenizer(Side::source),
                  &target = dataset.tokenizer(Side::target);
  // Two ways to cut text may share their pieces, as in Opus-MT.
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

class TranslationTask : public TrainingTask {
 public:
  TranslationTask(const Settings& settings, std::shared_ptr<const ParallelDataset> dataset,
                  const ComputePlan& plan)
      : settings_(settings),
        dataset_(std::move(dataset)),
        translator_(settings, vocabularies_of(*dataset_), plan),
        batches_(*dataset_, Split::train, batch_options(settings)) {
    if (dataset_->sentences(Split::validation) == 0) {
      throw_failure(dataset_->folder().string(), "has no validation pairs",
                    "prepare it again with a validation set or --validation-fraction 0.02");
    }
    require_positions(translator_, *dataset_, Split::validation);
    if (batches_.left_out() > 0) {
      log::info("{} of {} pairs are longer than data.length {} and are not trained on",
                batches_.left_out(), batches_.left_out() + batches_.pairs(), settings.data.length);
    }
  }

  ParameterStore& parameters() override { return translator_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    return make_part_of(0, number, {});
  }
  std::unique_ptr<TrainingBatch> make_part_of(std::int64_t, std::int64_t number,
                                              const BatchPart& part) const override {
    auto result = std::make_unique<TranslationTrainingBatch>();
    result->pairs =
        pinned_for(part_of(to_tensors(batches_[number]), part), translator_.plan().device);
    result->target_count = result->pairs.labels.numel();
    result->tokens = result->pairs.target_ids.numel();
    return result;
  }

  double batches_per_epoch() const override {
    return static_cast<double>(batches_.batches_per_epoch());
  }
  double tokens_per_batch() const override {
    const auto& train = dataset_->description()[Split::train];
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

  Figures validate(Processes& processes) override {
    const TranslationEvaluation found =
        evaluate_translator(translator_, settings_, *dataset_, Split::validation, processes);
    for (std::size_t i = 0; i < std::min<std::size_t>(kExamples, found.hypotheses.size()); ++i) {
      // Sentences spread over the set, the same ones each time.
      const std::size_t at = i * found.hypotheses.size() / kExamples;
      log::info("  source     {}", found.sources[at]);
      log::info("  reference  {}", found.references[at]);
      log::info("  this model {}", found.hypotheses[at]);
    }
    return {{"loss", found.loss},
            {"smoothed_loss", found.smoothed_loss},
            {"perplexity", perplexity(found.loss)},
            {"accuracy", found.accuracy},
            {"bleu", found.bleu},
            {"chrf", found.chrf}};
  }

  void save_assets(const InnerPath& folder) const override {
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

nlohmann::json translation_data_record(const Settings& settings) {
  const ParallelDescription description = read_parallel_description(settings.data.directory);
  const auto shards = [&](Split split) {
    std::vector<std::uint64_t> checksums;
    for (const Side side : kSides) {
      const std::vector<std::uint64_t>& own = description[split][side].shard_checksums;
      checksums.insert(checksums.end(), own.begin(), own.end());
    }
    return shards_fingerprint(checksums);
  };
  nlohmann::json record = {
      {"name", description.name},
      {"fingerprint", hexadecimal(description.fingerprint)},
      {"source_tokenizer_fingerprint", hexadecimal(description.tokenizers[0].fingerprint)},
      {"target_tokenizer_fingerprint", hexadecimal(description.tokenizers[1].fingerprint)},
      {"training_fingerprint", shards(Split::train)},
      {"validation_fingerprint", shards(Split::validation)},
      {"training_pairs", description[Split::train].sentences},
      {"validation_pairs", description[Split::validation].sentences}};
  if (description.text_fingerprint) {
    record["text_fingerprint"] = hexadecimal(*description.text_fingerprint);
  }
  return record;
}

OpenedTask open_translation_task(const TaskSources& sources) {
  const Settings& settings = sources.settings;
  const auto dataset = std::make_shared<const ParallelDataset>(settings.data.directory);
  return {.task = std::make_unique<TranslationTask>(settings, dataset, sources.plan),
          .tokenizer = std::shared_ptr<const Tokenizer>(dataset, &dataset->tokenizer(Side::target)),
          .data = data_record(settings)};
}

}  // namespace

// A training may decode a part of its validation set; an evaluation decodes all of a set.
TaskDefinition define_translation() {
  return {.task = TaskKind::translation,
          .noun = Translator::kNoun,
          .open = open_translation_task,
          .data_record = translation_data_record,
          .make_model = [](const Settings& settings, const TranslationVocabularies& vocabularies,
                           const ComputePlan& plan) -> std::unique_ptr<TaskModel> {
            return std::make_unique<Translator>(settings, vocabularies, plan);
          },
          .evaluate_flags = {"--data", "--split", "--output"},
          .evaluated_with = {{.key = "decoding.sentences", .text = "0"}},
          .evaluate = evaluate_translation};
}

}  // namespace roformer
