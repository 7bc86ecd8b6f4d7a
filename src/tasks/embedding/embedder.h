// The model of the task embedding: an encoder whose pooled states are the vectors of texts (Reimers
// and Gurevych 2019). It has no parameters besides the encoder's. N texts, M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "config/settings.h"
#include "data/text_pairs.h"
#include "model/transformer_stack.h"
#include "tasks/shared_batches.h"
#include "tasks/task_model.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

// Rows of length 1; a row of zeros stays.
at::Tensor unit_rows(const at::Tensor& vectors);

class Embedder : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "text embedder";

  // `vocabulary` has the same meaning as in LanguageModel. settings.embedding says how texts are
  // pooled and whether vectors() have length 1.
  Embedder(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan);

  ParameterStore& parameters() override { return parameters_; }
  const ComputePlan& plan() const override { return plan_; }
  std::int64_t width() const { return encoder_.settings().model.width; }

  // The pooled states [B, M] float on the device, with a graph and never normalised.
  at::Tensor forward(const TextBatch& batch, const ForwardMode& mode) const;
  // The vectors of all texts in their order, [N, M] float on the CPU, without a graph.
  at::Tensor vectors(std::span<const EncodedText> texts, Processes& processes,
                     const WorkProgress& progress = {}) const;
  at::Tensor vectors(std::span<const EncodedText> texts, const WorkProgress& progress = {}) const;

 private:
  EmbeddingSettings settings_;
  ComputePlan plan_;
  ParameterStore parameters_;
  TransformerStack encoder_;
};

using TrainedEmbedder = RunOf<Embedder>;

}  // namespace roformer
