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
  at::Tensor target_positions;    // [P] int64; undefined: all T in their order
  at::Tensor labels;              // [P] int64
  std::int64_t first_target = 0;  // of a part of a batch: the targets of the parts before it
};
// The sequences of the batch that belong to the part. On the CPU.
LanguageBatch part_of(const LanguageBatch& batch, const BatchPart& part);
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

  // `vocabulary` is the tokenizer's size, used if model.vocabulary is 0. Throws Error (usage) if
  // model.vocabulary is smaller.
  LanguageModel(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan);

  ParameterStore& parameters() override { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const TransformerStack& encoder() const { return encoder_; }
  const LanguageHead& head() const { return head_; }
  const ComputePlan& plan() const override { return plan_; }

  // The batch in pinned memory, from which a GPU copies at once. On a GPU the number of targets is
  // padded to a multiple that suits products: the first position is repeated without a label. Use
  // it where batches are made ahead.
  LanguageBatch pad_and_pin(LanguageBatch batch) const;
  // These functions implement TrainingObjective.
  bool repeats_its_work() const { return encoder_.repeats_its_work(); }

  // Cross entropy at the batch's targets. Layers report to the observer if it asks for them.
  CrossEntropy loss(const LanguageBatch& batch, const ForwardMode& mode,
                    const std::optional<Positions>& positions = std::nullopt,
                    AttentionObserver* observer = nullptr) const;
  // Adds the matrices that a decoding step multiplies by, while the result exists; nothing on a
  // GPU. Those in fp32 stay where they are: laid out by MKL, every one would take its memory twice.
  // With bf16 the logits' table is in fp32.
  void add_to(InferenceWeights& weights, WeightForm form) const;

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
