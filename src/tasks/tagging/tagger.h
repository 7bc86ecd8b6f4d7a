// A model that tags words: encoder and a head that every word's first piece passes, built from
// settings. Texts lie end to end, without padding. T tokens, N words, C tags.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "config/settings.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "tasks/shared_batches.h"
#include "tasks/tagging/word_windows.h"
#include "tasks/task_model.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

// Several windows joined without padding.
struct WordBatch {
  TextBatch texts;
  std::vector<std::int64_t> places;  // [N] the words' first pieces among the T tokens
};
void append(const WordWindow& window, WordBatch& batch);

class Tagger : public TaskModel {
 public:
  static constexpr std::string_view kNoun = "tagger";

  // `vocabulary` has the same meaning as in LanguageModel.
  Tagger(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan);

  ParameterStore& parameters() override { return parameters_; }
  const ComputePlan& plan() const override { return plan_; }

  // Logits [N, C] on the device, with a graph.
  at::Tensor forward(const WordBatch& batch, const ForwardMode& mode) const;
  // The logits of all words, [W, C] float on the CPU, without a graph: row `words[i]` for each word
  // of a window. W counts the words of all windows. The model computes windows of similar length
  // together, and each batch on one of the processes.
  at::Tensor predict(std::span<const WordWindow> windows, Processes& processes,
                     const WorkProgress& progress = {}) const;
  at::Tensor predict(std::span<const WordWindow> windows, const WorkProgress& progress = {}) const;

 private:
  ComputePlan plan_;
  ParameterStore parameters_;
  TransformerStack encoder_;
  ClassificationHead head_;
};

using TrainedTagger = RunOf<Tagger>;

}  // namespace roformer
