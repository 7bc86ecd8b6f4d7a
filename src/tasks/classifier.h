// A model that classifies or scores sentences and pairs: encoder, head and parameters, built from
// settings. Texts lie end to end, without padding. B texts, T tokens, C outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/matching_settings.h"
#include "config/settings.h"
#include "data/length_batches.h"
#include "data/text_pairs.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "tasks/shared_batches.h"
#include "tasks/task_definition.h"
#include "tasks/task_model.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

// The settings of the head on the encoder.
struct ClassifierShape {
  std::int64_t outputs = 1;  // classes, or 1 for a score
  ClassifierHead head = ClassifierHead::bert;
  double head_dropout = 0;
  TextPooling pooling = TextPooling::first;
};

class Classifier : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "classifier";

  // `vocabulary` has the same meaning as in LanguageModel.
  Classifier(const Settings& settings, std::int64_t vocabulary, const ClassifierShape& shape,
             const ComputePlan& plan);

  ParameterStore& parameters() override { return parameters_; }
  const ComputePlan& plan() const override { return plan_; }

  // Logits or scores [B, C] on the device, with a graph.
  at::Tensor forward(const TextBatch& batch, const ForwardMode& mode) const;
  // The outputs of all texts in their order, [B, C] float on the CPU, without a graph. The model
  // computes texts of similar length together, and each batch on one of the processes.
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

using TrainedClassifier = RunOf<Classifier>;

// The run's own tokenizer if the run continues, else the tokenizer that the settings name, else the
// tokenizer of the model to start from. Throws Error (usage) if there is none, or if it has no
// [CLS] and [SEP].
std::shared_ptr<const Tokenizer> text_tokenizer(const TaskSources& sources);

// A batch with a fixed number of texts mixes all lengths, as the benchmark's baselines do: an
// unpadded batch wastes nothing on them. A batch with a fixed number of tokens holds texts of
// similar length.
BucketOptions text_bucket_options(const Settings& settings);

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts);

}  // namespace roformer
