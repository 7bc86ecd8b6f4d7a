// A language model as the tasks use it: encoder, head and parameters, built from settings. With a
// causal mask the same parts are a decoder-only model.
#pragma once

#include <memory>
#include <vector>

#include "config/settings.h"
#include "data/batches.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "tasks/task_model.h"
#include "tensor/device.h"
#include "tensor/inference_weights.h"
#include "training/task.h"

namespace roformer {

// A batch as tensors. P targets carry a loss.
struct LanguageBatch {
  at::Tensor ids;  // [T] int64
  TokenLayout layout;
  at::Tensor target_positions;  // [P] int64; undefined: all T in their order
  at::Tensor labels;            // [P] int64
};
LanguageBatch to_device(const MaskedBatch& batch, at::Device device);
LanguageBatch to_device(const CausalBatch& batch, at::Device device);
LanguageBatch to_device(const LanguageBatch& batch, at::Device device);

// A micro-batch of a language model's task.
struct LanguageTrainingBatch : TrainingBatch {
  LanguageBatch batch;

  std::vector<std::int64_t> sizes() const override;
  std::vector<at::Tensor> tensors() const override;
  std::unique_ptr<TrainingBatch> copied_to(at::Device device) const override;
};

class LanguageModel : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "language model";

  // `vocabulary`: the tokenizer's size, used where model.vocabulary is 0; a smaller one than the
  // tokenizer's is refused (usage).
  LanguageModel(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan);

  ParameterStore& parameters() override { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const TransformerStack& encoder() const { return encoder_; }
  const LanguageHead& head() const { return head_; }
  const ComputePlan& plan() const override { return plan_; }

  // The batch in the memory that a GPU copies from at once, and there with as many targets as
  // products are made of, the first position again without a label. For who makes batches ahead.
  LanguageBatch pad_and_pin(LanguageBatch batch) const;
  // As TrainingObjective has it.
  bool repeats_its_work() const { return encoder_.repeats_its_work(); }

  // Cross entropy at the batch's targets. The observer is asked by the layers that it wants.
  CrossEntropy loss(const LanguageBatch& batch, const ForwardMode& mode,
                    const std::optional<Positions>& positions = std::nullopt,
                    AttentionObserver* observer = nullptr) const;
  // Adds what a step of decoding multiplies by, for the time that it is in use; the logits' table
  // in fp32. Nothing on a GPU, and nothing in fp32, where every matrix would take its memory twice
  // for the little that one row a text gains.
  void add_to(InferenceWeights& weights) const;

  // [P, V]
  at::Tensor logits(const at::Tensor& ids, const TokenLayout& layout, const at::Tensor& rows,
                    const std::optional<Positions>& positions = std::nullopt) const;

 private:
  ComputePlan plan_;
  ParameterStore parameters_;
  TransformerStack encoder_;
  LanguageHead head_;

  at::Tensor rows_of(const at::Tensor& targets) const;
};

using TrainedModel = RunOf<LanguageModel>;

}  // namespace roformer
