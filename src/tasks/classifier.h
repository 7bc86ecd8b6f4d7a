// A model that classifies or scores sentences and pairs: encoder, head and parameters, built from
// settings. Texts lie end to end, without padding. B texts, T tokens, C outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "config/matching_settings.h"
#include "config/settings.h"
#include "data/text_pairs.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "tasks/shared_batches.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

// What stands on the encoder.
struct ClassifierShape {
  std::int64_t outputs = 1;  // classes, or 1 for a score
  ClassifierHead head = ClassifierHead::bert;
  double head_dropout = 0;
  TextPooling pooling = TextPooling::first;
};

class Classifier {
 public:
  // `vocabulary` as for LanguageModel.
  Classifier(const Settings& settings, std::int64_t vocabulary, const ClassifierShape& shape,
             const ComputePlan& plan);

  ParameterStore& parameters() { return parameters_; }
  const ComputePlan& plan() const { return plan_; }

  // Logits or scores [B, C] on the device, with a graph.
  at::Tensor forward(const TextBatch& batch, const ForwardMode& mode) const;
  // Of all texts in their order, [B, C] float on the CPU, without a graph. Texts of similar length
  // are computed together, each batch by one of the processes.
  at::Tensor predict(std::span<const EncodedText> texts, Processes& processes,
                     const WorkProgress& progress = {}) const;
  at::Tensor predict(std::span<const EncodedText> texts, const WorkProgress& progress = {}) const;

 private:
  ComputePlan plan_;
  ParameterStore parameters_;
  TransformerStack encoder_;
  ClassificationHead head_;
  TextPooling pooling_;
};

}  // namespace roformer
