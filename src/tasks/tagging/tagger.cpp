#include "tasks/tagging/tagger.h"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "attention/linear_attention.h"
#include "data/length_batches.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// The number of tokens in a batch that is only predicted. The outputs do not depend on it.
constexpr std::int64_t kPredictedTokens = 2048;
// Keeps the head's dropout apart from the encoder's.
constexpr std::uint64_t kTagDropout = 0x74616773;

// Dropout and a linear layer, as in BERT and most others. transformers' ModernBERT also has the
// layers before its language head's decoder; its blocks are pre-norm with a norm of the embedding.
ClassifierHead tagging_head(const ModelSettings& model) {
  const bool modernbert = model.norm == NormPlacement::pre && model.embedding_norm;
  return modernbert ? ClassifierHead::modernbert : ClassifierHead::linear;
}

}  // namespace

void append(const WordWindow& window, WordBatch& batch) {
  const auto begin = static_cast<std::int64_t>(batch.texts.ids.size());
  for (const std::int64_t place : window.places) batch.places.push_back(begin + place);
  append(window.text, batch.texts);
}

Tagger::Tagger(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan)
    : plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      encoder_(stack_settings(settings, vocabulary), parameters_),
      head_({.kind = tagging_head(settings.model),
             .outputs = static_cast<std::int64_t>(settings.tagging.classes.size()),
             .dropout = settings.tagging.head_dropout},
            encoder_, parameters_) {
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

at::Tensor Tagger::forward(const WordBatch& batch, const ForwardMode& mode) const {
  const std::uint64_t features =
      mode.training ? favor_key(encoder_.settings().attention, parameters_.seed(), mode.step) : 0;
  const bool typed = encoder_.settings().model.token_types > 1;
  const at::Tensor states = encoder_.forward(
      {.ids = copy_to(batch.texts.ids, plan_.device),
       .token_types = typed ? copy_to(batch.texts.types, plan_.device) : at::Tensor(),
       .layout = TokenLayout::of_lengths(batch.texts.lengths),
       .rows = copy_to(batch.places, plan_.device),
       .training = mode.training,
       .dropout_key = mode.key,
       .feature_key = features,
       .precision = plan_.precision});
  return head_.forward(states, mode.training, dropout_key({mode.key, kTagDropout}));
}

at::Tensor Tagger::predict(std::span<const WordWindow> windows,
                           const WorkProgress& progress) const {
  return predict(windows, *make_single_process(), progress);
}

at::Tensor Tagger::predict(std::span<const WordWindow> windows, Processes& processes,
                           const WorkProgress& progress) const {
  std::vector<std::int32_t> lengths;
  std::int64_t words = 0;
  for (const WordWindow& window : windows) {
    lengths.push_back(static_cast<std::int32_t>(window.text.length()));
    words += std::ssize(window.words);
  }
  const LengthBuckets buckets(std::move(lengths),
                              {.tokens = kPredictedTokens, .bucket_width = 1, .shuffle = false});
  const c10::AutoGradMode no_gradient(false);
  at::Tensor result = at::zeros({words, head_.outputs()}, at::kFloat);
  for_own_batches(
      processes, buckets.batches_per_epoch(),
      [&](std::int64_t n) {
        WordBatch batch;
        std::vector<std::int64_t> rows;
        for (const std::int64_t number : buckets[n].sequences) {
          const WordWindow& window = windows[static_cast<std::size_t>(number)];
          append(window, batch);
          rows.insert(rows.end(), window.words.begin(), window.words.end());
        }
        const at::Tensor outputs = forward(batch, {}).to(at::kCPU, at::kFloat);
        result.index_copy_(0, copy_to(rows, at::kCPU), outputs);
      },
      progress);
  processes.begin_sum(result)->wait();  // each process fills its own rows; the others are zero
  return result;
}

}  // namespace roformer
