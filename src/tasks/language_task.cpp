#include "tasks/language_task.h"

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
#include "tasks/language_batches.h"
#include "tasks/language_evaluation.h"
#include "tasks/language_model.h"
#include "tasks/language_sources.h"

namespace roformer {
namespace {

// A text divided anew has the same fingerprint.
std::uint64_t training_tokens(const Dataset& dataset) {
  return dataset.description()[Split::train].counts.tokens;
}

struct LanguageTrainingBatch : TrainingBatch {
  LanguageBatch batch;
};

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
    result->batch = pinned_for(batches_[static_cast<std::size_t>(stage)]->training(number),
                               model_.plan().device);
    result->target_count = result->batch.labels.numel();
    result->tokens = result->batch.ids.numel();
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

  // Ranked at data.length in every stage; the other stages' lengths stand beside it.
  ValidationResult validate(Processes& processes) override {
    const TaskFacts& facts = task_facts(settings_.task);
    ValidationResult result{.ranked_by = std::string(facts.ranked_by(settings_))};
    for (const auto& [length, batches] : validations_) {
      const LanguageEvaluation evaluation = evaluate_language_batches(
          model_, settings_, *dataset_, *batches, {.length = length}, processes);
      result.tokens += evaluation.tokens;
      if (length != settings_.data.length) {
        result.figures[fmt::format("loss_at_length_{}", length)] = evaluation.loss;
        result.figures[fmt::format("accuracy_at_length_{}", length)] = evaluation.accuracy;
        continue;
      }
      result.figures["loss"] = evaluation.loss;
      result.figures["accuracy"] = evaluation.accuracy;
      result.figures["perplexity"] = perplexity(evaluation.loss);
      if (std::isfinite(evaluation.standard_error)) {
        result.figures["loss_standard_error"] = evaluation.standard_error;
      }
      if (evaluation.denominators) {
        result.figures["small_denominators"] = evaluation.denominators->small_share();
        result.figures["least_denominator"] = evaluation.denominators->least;
      }
      if (facts.causal) {
        result.figures["bits_per_character"] = bits_of_character(evaluation, *dataset_);
        result.figures["bits_per_byte"] = bits_of_byte(evaluation, *dataset_);
      }
    }
    return result;
  }

  // Of the data sets that are trained on and are not data.directory.
  nlohmann::json other_data() const {
    nlohmann::json record = {{"source_fingerprints", nlohmann::json::array()}};
    for (std::size_t i = 0; i < settings_.data.sources.size(); ++i) {
      record["source_fingerprints"].push_back(
          fmt::format("{} x {}", hexadecimal(sources_[i].dataset->description().fingerprint),
                      sources_[i].weight));
      record["source_training_tokens"].push_back(training_tokens(*sources_[i].dataset));
    }
    for (std::size_t i = 0; i < settings_.stages.size(); ++i) {
      if (settings_.stages[i].directory.empty()) continue;
      const Dataset& own = *stages_[i].sources.front().dataset;
      record["stage_fingerprints"].push_back(hexadecimal(own.description().fingerprint));
      record["stage_training_tokens"].push_back(training_tokens(own));
    }
    return record;
  }

  void save_assets(const std::string& folder) const override {
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

nlohmann::json data_record(const Settings& settings, const DatasetDescription& description) {
  return {{"folder", settings.data.directory.string()},
          {"name", shown_name(description)},
          {"fingerprint", hexadecimal(description.fingerprint)},
          {"tokenizer_fingerprint", hexadecimal(description.tokenizer_fingerprint)},
          {"training_tokens", description[Split::train].counts.tokens},
          {"validation_tokens", description[Split::validation].counts.tokens},
          {"test_tokens", description[Split::test].counts.tokens}};
}

}  // namespace

OpenedTask open_language_task(const TaskSources& sources) {
  const Settings& settings = sources.settings;
  const auto dataset = std::make_shared<const Dataset>(settings.data.directory);
  check_split(settings, dataset->description());
  if (task_facts(settings.task).causal) warn_of_line_ends(*dataset);
  auto task = std::make_unique<LanguageTask>(settings, dataset, sources.plan);
  nlohmann::json data = data_record(settings, dataset->description());
  data.update(task->other_data());
  return {.task = std::move(task),
          .tokenizer = std::shared_ptr<const Tokenizer>(dataset, &dataset->tokenizer()),
          .data = std::move(data)};
}

}  // namespace roformer
