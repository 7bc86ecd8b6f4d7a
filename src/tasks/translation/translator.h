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

// Pairs of sentences as tensors. Index i of both layouts is one pair.
struct TranslationBatch {
  at::Tensor source_ids;  // [S] int64, each sentence with its end
  TokenLayout source;
  at::Tensor target_ids;  // [T] int64, each sentence after the begin token
  TokenLayout target;
  at::Tensor labels;  // [T] int64: what follows each target id, the end at last
};
// In the memory of the host.
TranslationBatch to_tensors(const ParallelBatch& batch);
TranslationBatch to_device(const TranslationBatch& batch, at::Device device);
// In the memory that a GPU copies from at once; for who makes batches ahead.
TranslationBatch pinned_for(const TranslationBatch& batch, at::Device device);

class Translator : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "translator";

  // Throws Error (usage) for ties that the vocabularies do not allow.
  Translator(const Settings& settings, const TranslationVocabularies& vocabularies,
             const ComputePlan& plan);

  // Another model with the same parameters, for another thread: the schemes' caches belong to one
  // thread. This model must outlive it.
  std::unique_ptr<Translator> borrowing() const;

  ParameterStore& parameters() override { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const EncoderDecoder& model() const { return model_; }
  const ComputePlan& plan() const override { return plan_; }
  // Tokens of the longest source and target that the schemes' tables have positions for; 0: any.
  std::int64_t longest_source() const { return longest_source_; }
  std::int64_t longest_target() const { return longest_target_; }

  // Adds what a step of decoding multiplies by, for the time that it is in use: in the form of the
  // plan's precision, or in another one. The logits' table stays in fp32 beside bf16. Nothing on a
  // GPU.
  void add_to(InferenceWeights& weights) const;
  void add_to(InferenceWeights& weights, WeightForm form) const;

  // Cross entropy at every label of a batch on the device. The probes are asked by the layers that
  // they want.
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
