#include "tasks/language_task.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/task_facts.h"
#include "metrics/language.h"
#include "tasks/data_record.h"
#include "tasks/language_batches.h"
#include "tasks/language_evaluation.h"
#include "tasks/language_model.h"
#include "tasks/language_sources.h"

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
    return make_batch_of(0, number);
  }
  std::unique_ptr<TrainingBatch> make_batch_of(std::int64_t stage,
                                               std::int64_t number) const override {
    auto result = std::make_unique<LanguageTrainingBatch>();
    LanguageBatch batch = batches_[static_cast<std::size_t>(stage)]->training(number);
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

  // Ranked at data.length in every stage; the other stages' lengths stand beside it.
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

// A recipe that says how the data is split holds for its prepared set, too.
void check_split(const Settings& settings, const DatasetDescription& description) {
  const double wanted = settings.data.validation_fraction;
  if (wanted == 0 || wanted == description.validation_fraction) return;
  throw_usage(
      "data.validation_fraction",
      fmt::format("{} is wanted, {} was prepared with {}", wanted, settings.data.directory.string(),
                  description.validation_fraction),
      fmt::format("prepare it again with --validation-fraction {}, or set the key to 0", wanted));
}

}  // namespace

OpenedTask open_language_task(const TaskSources& sources) {
  const Settings& settings = sources.settings;
  const auto dataset = std::make_shared<const Dataset>(settings.data.directory);
  check_split(settings, dataset->description());
  if (task_facts(settings.task).causal) warn_of_line_ends(*dataset);
  return {.task = std::make_unique<LanguageTask>(settings, dataset, sources.plan),
          .tokenizer = std::shared_ptr<const Tokenizer>(dataset, &dataset->tokenizer()),
          .data = data_record(settings)};
}

}  // namespace roformer
