// An encoder with or without a head, for models that read whole texts: classifiers, matchers,
// taggers and embedders. Texts lie end to end, without padding. B texts, T tokens, N rows, M width,
// C outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "config/settings.h"
#include "data/text_pairs.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "tasks/shared_batches.h"
#include "tasks/task_model.h"
#include "tensor/device.h"
#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

struct TextModelShape {
  std::int64_t outputs = 0;  // of the head: classes, or 1 for a score; 0: no head
  ClassifierHead head = ClassifierHead::bert;
  double head_dropout = 0;
  TextPooling pooling = TextPooling::first;
  std::uint64_t dropout_key = 0x68656164;  // keeps the head's dropout apart from the encoder's
};

class TextModel : public TaskModel {
 public:
  // `vocabulary` has the same meaning as in LanguageModel.
  TextModel(const Settings& settings, std::int64_t vocabulary, const TextModelShape& shape,
            const ComputePlan& plan);

  ParameterStore& parameters() override { return parameters_; }
  const ComputePlan& plan() const override { return plan_; }
  // C; without a head, M.
  std::int64_t outputs() const;

  // The outputs of each text [B, C], or of the tokens in batch.places [N, C], on the device with a
  // graph. The head reads the tokens' states or the pooled states of the texts; without a head they
  // are the outputs.
  at::Tensor forward(const TextBatch& batch, const ForwardMode& mode) const;
  // The outputs of all texts in their order, [B, C] float on the CPU, without a graph.
  at::Tensor predict(std::span<const EncodedText> texts, const WorkProgress& progress = {},
                     Processes& processes = *make_single_process()) const;

 protected:
  // Adds an item to the batch, and the numbers of its rows in the result.
  using AddItem =
      std::function<void(std::int64_t item, TextBatch& batch, std::vector<std::int64_t>& rows)>;

  // The outputs [rows, C] of all items, float on the CPU, without a graph. Computes items of
  // similar length together, and each batch on one of the processes.
  at::Tensor predict_items(std::vector<std::int32_t> lengths, std::int64_t rows, const AddItem& add,
                           const WorkProgress& progress, Processes& processes) const;
  virtual at::Tensor predicted(const TextBatch& batch) const { return forward(batch, {}); }

 private:
  ComputePlan plan_;
  ParameterStore parameters_;
  TransformerStack encoder_;
  std::optional<ClassificationHead> head_;
  TextModelShape shape_;

  at::Tensor states(const TextBatch& batch, const ForwardMode& mode) const;
};

class Classifier : public TextModel {
 public:
  static constexpr std::string_view kNoun = "classifier";
  using TextModel::TextModel;
};

using TrainedClassifier = RunOf<Classifier>;

// predict() with a progress bar; `unit`: "texts".
template <class Model, class Items>
at::Tensor predict_with_bar(const Model& model, const Items& items, const std::string& title,
                            const char* unit) {
  ProgressBar bar(title, items.size(), unit);
  bar.begin();
  at::Tensor outputs = model.predict(items, [&](std::int64_t done, std::int64_t of) {
    bar.advance_to(static_cast<std::uint64_t>(std::ssize(items) * done / of));
  });
  bar.clear();
  return outputs;
}

}  // namespace roformer
