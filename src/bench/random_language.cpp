#include "bench/random_language.h"

#include "base/random.h"
#include "config/task_facts.h"
#include "tasks/language/language_model.h"

namespace roformer {
namespace {

MaskedBatch random_batch(const Settings& settings, std::uint64_t key) {
  Random random(key);
  MaskedBatch batch;
  batch.rows = settings.training.batch;
  batch.length = settings.data.length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    if (i % batch.length == 0) batch.sequence_starts.push_back(i);
    const auto id = static_cast<std::int64_t>(
        5 + random.below(static_cast<std::uint64_t>(settings.model.vocabulary - 5)));
    batch.ids.push_back(id);
    if (random.uniform() >= settings.data.masking.probability) continue;
    batch.target_positions.push_back(i);
    batch.labels.push_back(id);
  }
  batch.sequence_starts.push_back(batch.tokens());
  return batch;
}

CausalBatch causal_batch(const MaskedBatch& masked) {
  CausalBatch batch;
  static_cast<TokenBatch&>(batch) = masked;
  batch.targets.assign(masked.ids.begin() + 1, masked.ids.end());
  batch.targets.push_back(masked.ids.front());
  batch.target_count = batch.tokens();
  return batch;
}

class RandomLanguage : public TrainingObjective {
 public:
  RandomLanguage(const Settings& settings, const ComputePlan& plan)
      : settings_(settings), model_(settings, settings.model.vocabulary, plan) {}

  ParameterStore& parameters() override { return model_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    const MaskedBatch source =
        random_batch(settings_, random_key({settings_.seed, static_cast<std::uint64_t>(number)}));
    auto result = std::make_unique<LanguageTrainingBatch>();
    LanguageBatch batch = task_facts(settings_.task).causal
                              ? to_device(causal_batch(source), at::kCPU)
                              : to_device(source, at::kCPU);
    result->target_count = batch.labels.numel();
    result->batch = model_.pad_and_pin(std::move(batch));
    result->tokens = source.tokens();
    return result;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const LanguageBatch& source = static_cast<const LanguageTrainingBatch&>(batch).batch;
    return model_.loss(to_device(source, model_.plan().device), mode).loss_sum;
  }
  bool repeats_its_work() const override { return model_.repeats_its_work(); }

 private:
  Settings settings_;
  LanguageModel model_;
};

}  // namespace

std::unique_ptr<TrainingObjective> random_language(const Settings& settings,
                                                   const ComputePlan& plan) {
  return std::make_unique<RandomLanguage>(settings, plan);
}

}  // namespace roformer
