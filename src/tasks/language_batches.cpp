#include "tasks/language_batches.h"

#include <utility>

#include "config/task_facts.h"

namespace roformer {
namespace {

template <typename Rows>
class BatchesOf final : public LanguageBatches {
 public:
  explicit BatchesOf(Rows rows) : rows_(std::move(rows)) {}

  LanguageBatch training(std::int64_t number) const override {
    return to_device(rows_.training(number), at::kCPU);
  }
  LanguageBatch validation(std::int64_t number, std::int64_t token_limit,
                           const Arrangement& arrangement) const override {
    return to_device(arranged(rows_.validation(number, token_limit), arrangement), at::kCPU);
  }
  std::int64_t validation_batches(std::int64_t token_limit) const override {
    return rows_.validation_batches(token_limit);
  }
  double batches_per_epoch() const override { return rows_.batches_per_epoch(); }

 private:
  Rows rows_;
};

}  // namespace

std::unique_ptr<LanguageBatches> make_language_batches(const Settings& settings,
                                                       const std::vector<WeightedDataset>& sources,
                                                       const LanguageRows& rows) {
  if (task_facts(settings.task).causal) {
    return std::make_unique<BatchesOf<CausalBatches>>(
        CausalBatches(sources, rows.split, rows.length, rows.batches));
  }
  return std::make_unique<BatchesOf<MaskedBatches>>(
      MaskedBatches(sources, rows.split, rows.length, settings.data.masking, rows.batches));
}

}  // namespace roformer
