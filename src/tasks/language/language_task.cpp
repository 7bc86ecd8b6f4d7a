// Pretraining of language models: masked (BERT's, 15 % of the tokens are targets) and causal (all
// are). Data, model, loss and metrics for the trainer, and the definitions of both tasks.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "config/task_facts.h"
#include "metrics/language.h"
#include "tasks/data_record.h"
#include "tasks/language/evaluate_language.h"
#include "tasks/language/language_batches.h"
#include "tasks/language/language_evaluation.h"
#include "tasks/language/language_model.h"
#include "tasks/task_definition.h"

namespace roformer {
namespace {

class LanguageTask : public TrainingTask {
 public:
  LanguageTask(const Settings& settings, std::shared_ptr<const Dataset> dataset,
               const ComputePlan& plan)
      : settings_(settings),
        dataset_(std::move(dataset)),
        model_(settings, dataset_->tokenizer().vocabulary_size(), plan),
        sources_(language_sources(settings, dataset_)),
        stages_(language_stages(settings, dataset_, sources_)) {
    say_shares(settings, sources_);
    validations_[settings.data.length];
    for (const LanguageStage& stage : stages_) {
      batches_.push_back(
          make_language_batches(settings, weighted_datasets(stage.sources),
                                {.split = Split::train,
                                 .length = stage.length,
                                 .batches = {.rows = stage.rows,
                                             .cross_documents = settings.data.cross_documents,
                                             .seed = stage.seed}}));
      validations_[stage.length];
    }
    for (auto& [length, batches] : validations_) {
      batches = ordered_batches(settings, *dataset_, Split::validation, length);
    }
    require_targets(*validations_.at(settings.data.length), settings, *dataset_);
  }

  ParameterStore& parameters() override { return model_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    return make_part_of(0, number, {});
  }
  std::unique_ptr<TrainingBatch> make_part_of(std::int64_t stage, std::int64_t number,
                                              const BatchPart& part) const override {
    auto result = std::make_unique<LanguageTrainingBatch>();
    LanguageBatch batch =
        part_of(batches_[static_cast<std::size_t>(stage)]->training(number), part);
    result->target_count = batch.labels.numel();
    result->tokens = batch.ids.numel();
    result->batch = model_.pad_and_pin(std::move(batch));
    return result;
  }

  double batches_per_epoch() const override { return batches_per_epoch_of(0); }
  double batches_per_epoch_of(std::int64_t stage) const override {
    return batches_[static_cast<std::size_t>(stage)]->batches_per_epoch();
  }
  double tokens_per_batch() const override {
    return static_cast<double>(stages_.front().rows * stages_.front().length);
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const LanguageTrainingBatch&>(batch).batch;
    return model_.loss(to_device(source, model_.plan().device), mode).loss_sum;
  }

  bool repeats_its_work() const override { return model_.repeats_its_work(); }

  // Validations at data.length decide which weights are best in every stage; the lengths of the
  // other stages are also reported.
  Figures validate(Processes& processes) override {
    const TaskFacts& facts = task_facts(settings_.task);
    Figures figures;
    for (const auto& [length, batches] : validations_) {
      const LanguageEvaluation evaluation = evaluate_language_batches(
          model_, settings_, *dataset_, *batches, {.length = length}, processes);
      if (length != settings_.data.length) {
        figures[fmt::format("loss_at_length_{}", length)] = evaluation.loss;
        figures[fmt::format("accuracy_at_length_{}", length)] = evaluation.accuracy;
        continue;
      }
      figures["loss"] = evaluation.loss;
      figures["accuracy"] = evaluation.accuracy;
      figures["perplexity"] = perplexity(evaluation.loss);
      if (std::isfinite(evaluation.standard_error)) {
        figures["loss_standard_error"] = evaluation.standard_error;
      }
      if (evaluation.denominators) {
        figures["small_denominators"] = evaluation.denominators->small_share();
        figures["least_denominator"] = evaluation.denominators->least;
      }
      if (facts.causal) {
        figures["bits_per_character"] = bits_of_character(evaluation, *dataset_);
        figures["bits_per_byte"] = bits_of_byte(evaluation, *dataset_);
      }
    }
    return figures;
  }

  void save_assets(const InnerPath& folder) const override {
    save_tokenizer(dataset_->tokenizer(), folder);
  }

 private:
  Settings settings_;
  std::shared_ptr<const Dataset> dataset_;
  LanguageModel model_;
  std::vector<LanguageSource> sources_;
  std::vector<LanguageStage> stages_;
  std::vector<std::unique_ptr<LanguageBatches>> batches_;                 // of the stages
  std::map<std::int64_t, std::unique_ptr<LanguageBatches>> validations_;  // by length
};

// If a recipe says how the data are split, its prepared set is split in the same way.
void check_split(const Settings& settings, const DatasetDescription& description) {
  const double wanted = settings.data.validation_fraction;
  if (wanted == 0 || wanted == description.validation_fraction) return;
  throw_usage(
      "data.validation_fraction",
      fmt::format("{} is wanted, {} was prepared with {}", wanted, settings.data.directory.string(),
                  description.validation_fraction),
      fmt::format("prepare it again with --validation-fraction {}, or set the key to 0", wanted));
}

std::string fingerprint_of(const DatasetDescription& description, Split split) {
  return shards_fingerprint(description[split].shard_checksums);
}

nlohmann::json language_data_record(const Settings& settings) {
  const DatasetDescription description = read_description(settings.data.directory);
  const auto training_tokens = [](const DatasetDescription& of) {
    return of[Split::train].counts.tokens;
  };
  nlohmann::json record = {
      {"name", shown_name(description)},
      {"fingerprint", hexadecimal(description.fingerprint)},
      {"tokenizer_fingerprint", hexadecimal(description.tokenizer_fingerprint)},
      {"training_tokens", training_tokens(description)},
      {"validation_tokens", description[Split::validation].counts.tokens},
      {"test_tokens", description[Split::test].counts.tokens},
      {"training_fingerprint", fingerprint_of(description, Split::train)},
      {"validation_fingerprint", fingerprint_of(description, Split::validation)},
      {"source_fingerprints", nlohmann::json::array()}};
  if (description[Split::test].counts.tokens > 0) {
    record["test_fingerprint"] = fingerprint_of(description, Split::test);
  }
  for (const auto& source : settings.data.sources) {
    const DatasetDescription own = read_description(source.directory);
    record["source_fingerprints"].push_back(
        fmt::format("{} x {}", hexadecimal(own.fingerprint), source.weight));
    record["source_training_tokens"].push_back(training_tokens(own));
    record["source_training_fingerprints"].push_back(fingerprint_of(own, Split::train));
  }
  for (const auto& stage : settings.stages) {
    if (stage.directory.empty()) continue;
    const DatasetDescription own = read_description(stage.directory);
    record["stage_fingerprints"].push_back(hexadecimal(own.fingerprint));
    record["stage_training_tokens"].push_back(training_tokens(own));
    record["stage_training_fingerprints"].push_back(fingerprint_of(own, Split::train));
  }
  return record;
}

// Opens a prepared data set, which includes its tokenizer.
OpenedTask open_language_task(const TaskSources& sources) {
  const Settings& settings = sources.settings;
  const auto dataset = std::make_shared<const Dataset>(settings.data.directory);
  check_split(settings, dataset->description());
  if (task_facts(settings.task).causal) warn_of_line_ends(*dataset);
  return {.task = std::make_unique<LanguageTask>(settings, dataset, sources.plan),
          .tokenizer = std::shared_ptr<const Tokenizer>(dataset, &dataset->tokenizer()),
          .data = data_record(settings)};
}

TaskDefinition define_language(TaskKind task) {
  return {.task = task,
          .noun = LanguageModel::kNoun,
          .open = open_language_task,
          .data_record = language_data_record,
          .make_model = make_model_of<LanguageModel>,
          .evaluate_flags = {"--data", "--split", "--against", "--length", "--tokens", "--shift",
                             "--drop-middle", "--shuffle-blocks", "--pseudo-perplexity",
                             "--by-position", "--chart", "--output"},
          .evaluate = evaluate_language,
          .instead_of_predict =
              "fine-tune it first: roformer train configs/glue/mrpc.yaml "
              "--model.from \"{}\""};
}

}  // namespace

TaskDefinition define_mlm() {
  return define_language(TaskKind::mlm);
}
TaskDefinition define_causal_lm() {
  return define_language(TaskKind::causal_lm);
}

}  // namespace roformer
