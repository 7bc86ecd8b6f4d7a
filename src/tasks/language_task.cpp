#include "tasks/language_task.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "data/prefetcher.h"
#include "metrics/language.h"

namespace roformer {
namespace {

// Rows of a validation batch; the numbers do not depend on it.
constexpr std::int64_t kValidationTokens = 8192;

MaskedBatches make_batches(const MaskedBatches*, const Settings& settings, const Dataset& dataset,
                           Split split, std::int64_t length, BatchOptions options) {
  return MaskedBatches(dataset, split, length, settings.data.masking, options);
}
CausalBatches make_batches(const CausalBatches*, const Settings&, const Dataset& dataset,
                           Split split, std::int64_t length, BatchOptions options) {
  return CausalBatches(dataset, split, length, options);
}

std::int64_t loss_places(const MaskedBatch& batch) {
  return static_cast<std::int64_t>(batch.places.size());
}
std::int64_t loss_places(const CausalBatch& batch) {
  return batch.target_count;
}

struct LanguageTrainingBatch : TrainingBatch {
  LanguageBatch batch;
};

// The validation split in rows of this length.
template <typename Batches>
Batches validation_batches(const Settings& settings, const Dataset& dataset, std::int64_t length) {
  return make_batches(static_cast<const Batches*>(nullptr), settings, dataset, Split::validation,
                      length,
                      {.rows = std::max<std::int64_t>(1, kValidationTokens / length),
                       .cross_documents = settings.data.cross_documents});
}

[[noreturn]] void refuse_without_places(const Dataset& dataset) {
  throw_failure(dataset.folder().string(), "the validation split has no place to predict",
                "a larger validation split, or more data.validation_tokens");
}

// Before the training and not at its first validation.
template <typename Batches>
Batches with_places(Batches batches, const Settings& settings, const Dataset& dataset) {
  const std::int64_t limit = settings.data.validation_tokens;
  for (std::int64_t n = 0; n < batches.validation_batches(limit); ++n) {
    if (loss_places(batches.validation(n, limit)) > 0) return batches;
  }
  refuse_without_places(dataset);
}

template <typename Batches>
LanguageEvaluation evaluate(const LanguageModel& model, const Settings& settings,
                            const Dataset& dataset, const Batches& batches,
                            const EvaluationOptions& options) {
  if (!settings.data.cross_documents &&
      (options.arrangement.drop_middle != 0 || options.arrangement.shuffle_blocks != 0)) {
    throw_usage("--drop-middle, --shuffle-blocks",
                "need rows that are one sequence, but data.cross_documents is false",
                "train and evaluate with data.cross_documents true");
  }
  const std::int64_t length = batches.rows().length();
  const std::int64_t limit = options.tokens > 0 ? options.tokens : settings.data.validation_tokens;
  const Arrangement arrangement = arrange(length, options.arrangement);
  const auto kept = static_cast<std::int64_t>(arrangement.order.size());
  const c10::AutoGradMode no_gradient(false);
  LanguageEvaluation result;
  std::vector<double> sums(static_cast<std::size_t>(length));
  std::vector<std::int64_t>& counts = result.places_by_position;
  counts.resize(static_cast<std::size_t>(length));
  double total = 0;
  std::int64_t correct = 0;
  for (std::int64_t n = 0; n < batches.validation_batches(limit); ++n) {
    const auto source = arranged(batches.validation(n, limit), arrangement);
    const LanguageBatch batch = to_device(source, model.plan().device);
    result.tokens += source.tokens();
    if (batch.labels.numel() == 0) continue;
    const CrossEntropy loss = model.loss(batch, {.training = false}, arrangement.positions);
    const double* const losses = loss.losses.template const_data_ptr<double>();
    const at::Tensor places = batch.places.defined() ? batch.places.cpu() : at::Tensor();
    for (std::int64_t i = 0; i < batch.labels.numel(); ++i) {
      const std::int64_t place =
          places.defined() ? places.template const_data_ptr<std::int64_t>()[i] : i;
      const auto origin =
          static_cast<std::size_t>(arrangement.order[static_cast<std::size_t>(place % kept)]);
      total += losses[i];
      sums[origin] += losses[i];
      ++counts[origin];
    }
    result.places += batch.labels.numel();
    correct += loss.correct;
  }
  if (result.places == 0) refuse_without_places(dataset);
  result.loss = total / static_cast<double>(result.places);
  result.accuracy = static_cast<double>(correct) / static_cast<double>(result.places);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.losses_by_position.push_back(counts[i] > 0 ? sums[i] / static_cast<double>(counts[i])
                                                      : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

template <typename Batches>
class LanguageTask : public TrainingTask {
 public:
  LanguageTask(const Settings& settings, const Dataset& dataset, const ComputePlan& plan)
      : settings_(settings),
        dataset_(dataset),
        model_(settings, dataset.tokenizer().vocabulary_size(), plan),
        batches_(make_batches(static_cast<const Batches*>(nullptr), settings, dataset, Split::train,
                              settings.data.length,
                              {.rows = settings.training.batch,
                               .cross_documents = settings.data.cross_documents,
                               .seed = settings.seed})),
        validation_(
            with_places(validation_batches<Batches>(settings, dataset, settings.data.length),
                        settings, dataset)),
        loader_({.threads = settings.data.loader_threads, .depth = settings.data.prefetch},
                [this](std::int64_t n) { return batches_.training(n); }) {}

  ParameterStore& parameters() override { return model_.parameters(); }

  std::unique_ptr<TrainingBatch> next_batch() override {
    const auto source = loader_.next();
    auto result = std::make_unique<LanguageTrainingBatch>();
    result->loss_places = loss_places(source);
    result->tokens = source.tokens();
    result->batch = to_device(source, model_.plan().device);
    return result;
  }

  double epochs() const override {
    return static_cast<double>(loader_.cursor()) / batches_.batches_per_epoch();
  }
  double batches_per_epoch() const override { return batches_.batches_per_epoch(); }
  double tokens_per_batch() const override {
    return static_cast<double>(settings_.training.batch * settings_.data.length);
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    return model_.loss(static_cast<const LanguageTrainingBatch&>(batch).batch, mode).loss_sum;
  }

  ValidationResult validate() override {
    const LanguageEvaluation evaluation = evaluate(model_, settings_, dataset_, validation_, {});
    ValidationResult result{.figures = {{"loss", evaluation.loss},
                                        {"accuracy", evaluation.accuracy},
                                        {"perplexity", perplexity(evaluation.loss)}},
                            .tokens = evaluation.tokens};
    if (settings_.task == TaskKind::causal_lm) {
      result.figures["bits_per_character"] = bits_of_character(evaluation, dataset_);
    }
    return result;
  }

  nlohmann::json cursor() const override { return {{"batch", loader_.cursor()}}; }
  void restore_cursor(const nlohmann::json& cursor) override {
    if (!cursor.is_object() || !cursor.contains("batch") || !cursor["batch"].is_number_integer() ||
        cursor["batch"].get<std::int64_t>() < 0) {
      throw_failure("state.json", "cursor: not the place of a language model's data");
    }
    loader_.seek(cursor["batch"].get<std::int64_t>());
  }
  void save_assets(const std::string& folder) const override {
    save_tokenizer(dataset_.tokenizer(), folder);
  }

 private:
  Settings settings_;
  const Dataset& dataset_;
  LanguageModel model_;
  Batches batches_;
  Batches validation_;
  Prefetcher<decltype(std::declval<Batches>().training(0))> loader_;
};

}  // namespace

std::unique_ptr<TrainingTask> make_language_task(const Settings& settings, const Dataset& dataset,
                                                 const ComputePlan& plan) {
  if (settings.task == TaskKind::causal_lm) {
    return std::make_unique<LanguageTask<CausalBatches>>(settings, dataset, plan);
  }
  return std::make_unique<LanguageTask<MaskedBatches>>(settings, dataset, plan);
}

LanguageEvaluation evaluate_language_model(const LanguageModel& model, const Settings& settings,
                                           const Dataset& dataset,
                                           const EvaluationOptions& options) {
  const std::int64_t length = options.length > 0 ? options.length : settings.data.length;
  if (settings.task == TaskKind::causal_lm) {
    return evaluate(model, settings, dataset,
                    validation_batches<CausalBatches>(settings, dataset, length), options);
  }
  return evaluate(model, settings, dataset,
                  validation_batches<MaskedBatches>(settings, dataset, length), options);
}

double bits_of_character(const LanguageEvaluation& evaluation, const Dataset& dataset) {
  const SplitCounts& counts = dataset.description()[Split::validation].counts;
  // The mean loss is over the separators behind the documents, too: they cost bits and are no text.
  const bool separated = dataset.tokenizer().special().separator >= 0;
  const auto places = static_cast<double>(counts.tokens + (separated ? counts.documents : 0));
  const std::uint64_t characters = std::max<std::uint64_t>(1, counts.characters);
  return bits_per_character(evaluation.loss * places, static_cast<std::int64_t>(characters));
}

}  // namespace roformer
