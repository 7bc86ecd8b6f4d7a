// A translator as the tasks use it: an encoder-decoder and its parameters, built from settings, and
// the loss of a batch of pairs. S source tokens, T target tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "config/settings.h"
#include "data/length_batches.h"
#include "model/encoder_decoder.h"
#include "tasks/task_model.h"
#include "tensor/device.h"
#include "tensor/inference_weights.h"
#include "tensor/operations.h"
#include "tensor/parameters.h"
#include "training/task.h"

namespace roformer {

// Pairs of sentences as tensors. Index i of both layouts is the same pair.
struct TranslationBatch {
  at::Tensor source_ids;  // [S] int64, each sentence with its end
  TokenLayout source;
  at::Tensor target_ids;  // [T] int64, each sentence after the begin token
  TokenLayout target;
  at::Tensor labels;  // [T] int64: what follows each target id, the end at last
};
// In the memory of the host.
TranslationBatch to_tensors(const ParallelBatch& batch);
// The pairs that belong to the part.
TranslationBatch part_of(const TranslationBatch& batch, const BatchPart& part);
TranslationBatch to_device(const TranslationBatch& batch, at::Device device);
// Copies the batch to pinned memory, from which a GPU copies at once. Use it where batches are made
// ahead.
TranslationBatch pinned_for(const TranslationBatch& batch, at::Device device);

class Translator : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "translator";

  // Throws Error (usage) if the settings tie tables that the vocabularies do not allow to share.
  Translator(const Settings& settings, const TranslationVocabularies& vocabularies,
             const ComputePlan& plan);

  // Another model with the same parameters, for another thread: the schemes' caches belong to one
  // thread. This model must outlive the copy.
  std::unique_ptr<Translator> borrowing() const;

  ParameterStore& parameters() override { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const EncoderDecoder& model() const { return model_; }
  const ComputePlan& plan() const override { return plan_; }
  // The largest number of source and target tokens that the schemes' tables have positions for; 0:
  // no limit.
  std::int64_t longest_source() const { return longest_source_; }
  std::int64_t longest_target() const { return longest_target_; }

  // Adds the matrices that a decoding step multiplies by, while the result exists, in the plan's
  // precision or in the given one. With bf16 the logits' table stays in fp32. Adds nothing on a
  // GPU.
  void add_to(InferenceWeights& weights) const;
  void add_to(InferenceWeights& weights, WeightForm form) const;

  // Cross entropy at every label of a batch on the device. Layers report to the probes that ask for
  // them.
  CrossEntropy loss(const TranslationBatch& batch, const ForwardMode& mode,
                    double label_smoothing = 0, const StackObservers& probes = {}) const;

 private:
  Translator(const Translator& lender, ParameterStore parameters);

  Settings settings_;
  TranslationVocabularies vocabularies_;
  ComputePlan plan_;
  ParameterStore parameters_;
  EncoderDecoder model_;
  std::int64_t longest_source_, longest_target_;
};

using TrainedTranslator = RunOf<Translator>;

}  // namespace roformer
