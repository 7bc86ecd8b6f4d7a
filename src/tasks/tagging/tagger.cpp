#include "tasks/tagging/tagging_task.h"

#include <utility>

namespace roformer {
namespace {

// Dropout and a linear layer, as in BERT and most others. transformers' ModernBERT also has the
// layers before its language head's decoder; its blocks are pre-norm with a norm of the embedding.
ClassifierHead tagging_head(const ModelSettings& model) {
  const bool modernbert = model.norm == NormPlacement::pre && model.embedding_norm;
  return modernbert ? ClassifierHead::modernbert : ClassifierHead::linear;
}

}  // namespace

void append(const WordWindow& window, TextBatch& batch) {
  const auto begin = static_cast<std::int64_t>(batch.ids.size());
  for (const std::int64_t place : window.places) batch.places.push_back(begin + place);
  append(window.text, batch);
}

Tagger::Tagger(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan)
    : TextModel(settings, vocabulary,
                {.outputs = static_cast<std::int64_t>(settings.tagging.classes.size()),
                 .head = tagging_head(settings.model),
                 .head_dropout = settings.tagging.head_dropout,
                 .dropout_key = 0x74616773},
                plan) {}

at::Tensor Tagger::predict(std::span<const WordWindow> windows, const WorkProgress& progress,
                           Processes& processes) const {
  std::vector<std::int32_t> lengths;
  std::int64_t words = 0;
  for (const WordWindow& window : windows) {
    lengths.push_back(static_cast<std::int32_t>(window.text.length()));
    words += std::ssize(window.words);
  }
  return predict_items(
      std::move(lengths), words,
      [&](std::int64_t number, TextBatch& batch, std::vector<std::int64_t>& rows) {
        const WordWindow& window = windows[static_cast<std::size_t>(number)];
        append(window, batch);
        rows.insert(rows.end(), window.words.begin(), window.words.end());
      },
      progress, processes);
}

}  // namespace roformer
