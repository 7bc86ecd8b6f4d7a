#include "tasks/text_model.h"

#include <c10/core/GradMode.h>

#include <utility>

#include "attention/linear_attention.h"
#include "config/task_facts.h"
#include "data/length_batches.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// The number of tokens in a batch that is only predicted. The outputs do not depend on it.
constexpr std::int64_t kPredictionTokens = 2048;

// The mean over each text's tokens, states [T, M] -> [B, M]. It is a product with a matrix of
// shares, so its sums have the same order on every device.
at::Tensor mean_states(const at::Tensor& states, const std::vector<std::int64_t>& lengths) {
  const auto texts = static_cast<std::int64_t>(lengths.size());
  const at::Tensor shares = at::zeros({texts, states.size(0)}, at::kFloat);
  std::int64_t begin = 0;
  for (std::int64_t text = 0; text < texts; ++text) {
    const std::int64_t length = lengths[static_cast<std::size_t>(text)];
    shares.select(0, text).narrow(0, begin, length).fill_(1 / static_cast<double>(length));
    begin += length;
  }
  return at::mm(on_device(shares, states.device()), states.to(at::kFloat));
}

// The number of the first output of a part of a batch among those of the whole.
std::int64_t first_row_of(const TextBatch& batch) {
  return batch.places.empty() ? batch.first_text : batch.first_place;
}

}  // namespace

TextModel::TextModel(const Settings& settings, std::int64_t vocabulary, const TextModelShape& shape,
                     const ComputePlan& plan)
    : plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      encoder_(stack_settings(settings, vocabulary), parameters_),
      shape_(shape) {
  if (shape.outputs > 0) {
    head_.emplace(ClassificationHeadSettings{.kind = resolved_head(shape.head, settings),
                                             .outputs = shape.outputs,
                                             .dropout = shape.head_dropout},
                  encoder_, parameters_);
  }
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

std::int64_t TextModel::outputs() const {
  return head_ ? head_->outputs() : encoder_.settings().model.width;
}

at::Tensor TextModel::states(const TextBatch& batch, const ForwardMode& mode) const {
  std::vector<std::int64_t> rows = batch.places;
  if (rows.empty() && shape_.pooling == TextPooling::first) {
    std::int64_t begin = 0;
    for (const std::int64_t length : batch.lengths) {
      rows.push_back(begin);
      begin += length;
    }
  }
  const std::uint64_t features =
      mode.training ? favor_key(encoder_.settings().attention, parameters_.seed(), mode.step) : 0;
  TokenLayout layout = TokenLayout::of_lengths(batch.lengths);
  layout.first_token = batch.first_token;
  layout.first_sequence = batch.first_text;
  layout.longest_of_all = batch.longest_of_all;
  const bool typed = encoder_.settings().model.token_types > 1;
  const at::Tensor states =
      encoder_.forward({.ids = copy_to(batch.ids, plan_.device),
                        .token_types = typed ? copy_to(batch.types, plan_.device) : at::Tensor(),
                        .layout = layout,
                        .rows = rows.empty() ? at::Tensor() : copy_to(rows, plan_.device),
                        .first_wanted = first_row_of(batch),
                        .training = mode.training,
                        .dropout_key = mode.key,
                        .feature_key = features,
                        .precision = plan_.precision});
  return rows.empty() ? mean_states(states, batch.lengths) : states;
}

at::Tensor TextModel::forward(const TextBatch& batch, const ForwardMode& mode) const {
  const at::Tensor read = states(batch, mode);
  if (!head_) return read.to(at::kFloat);
  return head_->forward(read, mode.training, dropout_key({mode.key, shape_.dropout_key}),
                        first_row_of(batch));
}

at::Tensor TextModel::predict(std::span<const EncodedText> texts, const WorkProgress& progress,
                              Processes& processes) const {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  return predict_items(
      std::move(lengths), std::ssize(texts),
      [&](std::int64_t text, TextBatch& batch, std::vector<std::int64_t>& rows) {
        append(texts[static_cast<std::size_t>(text)], batch);
        rows.push_back(text);
      },
      progress, processes);
}

at::Tensor TextModel::predict_items(std::vector<std::int32_t> lengths, std::int64_t rows,
                                    const AddItem& add, const WorkProgress& progress,
                                    Processes& processes) const {
  const LengthBuckets buckets(std::move(lengths),
                              {.tokens = kPredictionTokens, .bucket_width = 1, .shuffle = false});
  const c10::AutoGradMode no_gradient(false);
  at::Tensor result = at::zeros({rows, outputs()}, at::kFloat);
  for_own_batches(
      processes, buckets.batches_per_epoch(),
      [&](std::int64_t n) {
        TextBatch batch;
        std::vector<std::int64_t> places;
        for (const std::int64_t item : buckets[n].sequences) add(item, batch, places);
        const at::Tensor computed = predicted(batch).to(at::kCPU, at::kFloat);
        result.index_copy_(0, copy_to(places, at::kCPU), computed);
      },
      progress);
  processes.begin_sum(result)->wait();  // each process fills its own rows; the others are zero
  return result;
}

}  // namespace roformer
