#include "tasks/classifier.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <vector>

#include "attention/linear_attention.h"
#include "base/error.h"
#include "data/length_batches.h"
#include "tasks/shared_batches.h"
#include "tasks/task_model.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// The number of texts in a batch that is only predicted. The outputs do not depend on it.
constexpr std::int64_t kPredictionTokens = 2048;
// Keeps the head's dropout apart from the encoder's.
constexpr std::uint64_t kHeadDropout = 0x68656164;

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

}  // namespace

Classifier::Classifier(const Settings& settings, std::int64_t vocabulary,
                       const ClassifierShape& shape, const ComputePlan& plan)
    : plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      encoder_(stack_settings(settings, vocabulary), parameters_),
      head_({.kind = shape.head, .outputs = shape.outputs, .dropout = shape.head_dropout}, encoder_,
            parameters_),
      pooling_(shape.pooling) {
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

at::Tensor Classifier::forward(const TextBatch& batch, const ForwardMode& mode) const {
  const TokenLayout layout = TokenLayout::of_lengths(batch.lengths);
  std::vector<std::int64_t> firsts;
  std::int64_t begin = 0;
  for (const std::int64_t length : batch.lengths) {
    firsts.push_back(begin);
    begin += length;
  }
  const std::uint64_t features =
      mode.training ? favor_key(encoder_.settings().attention, parameters_.seed(), mode.step) : 0;
  const bool typed = encoder_.settings().model.token_types > 1;
  const at::Tensor states = encoder_.forward(
      {.ids = copy_to(batch.ids, plan_.device),
       .token_types = typed ? copy_to(batch.types, plan_.device) : at::Tensor(),
       .layout = layout,
       .rows = pooling_ == TextPooling::first ? copy_to(firsts, plan_.device) : at::Tensor(),
       .training = mode.training,
       .dropout_key = mode.key,
       .feature_key = features,
       .precision = plan_.precision});
  const at::Tensor pooled =
      pooling_ == TextPooling::first ? states : mean_states(states, batch.lengths);
  return head_.forward(pooled, mode.training, dropout_key({mode.key, kHeadDropout}));
}

at::Tensor Classifier::predict(std::span<const EncodedText> texts,
                               const WorkProgress& progress) const {
  return predict(texts, *make_single_process(), progress);
}

at::Tensor Classifier::predict(std::span<const EncodedText> texts, Processes& processes,
                               const WorkProgress& progress) const {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  const LengthBuckets buckets(std::move(lengths),
                              {.tokens = kPredictionTokens, .bucket_width = 1, .shuffle = false});
  const c10::AutoGradMode no_gradient(false);
  at::Tensor result =
      at::zeros({static_cast<std::int64_t>(texts.size()), head_.outputs()}, at::kFloat);
  for_own_batches(
      processes, buckets.batches_per_epoch(),
      [&](std::int64_t n) {
        const BucketBatch chosen = buckets[n];
        TextBatch batch;
        for (const std::int64_t text : chosen.sequences) {
          append(texts[static_cast<std::size_t>(text)], batch);
        }
        const at::Tensor outputs = forward(batch, {}).to(at::kCPU, at::kFloat);
        result.index_copy_(0, copy_to(chosen.sequences, at::kCPU), outputs);
      },
      progress);
  processes.begin_sum(result)->wait();  // each process fills its own rows; the others are zero
  return result;
}

std::shared_ptr<const Tokenizer> text_tokenizer(const TaskSources& sources) {
  const TokenizerSettings& settings = sources.settings.tokenizer;
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!sources.stored.empty()) {
    tokenizer = load_tokenizer(sources.stored);
  } else {
    const bool named = !settings.file.empty() || settings.kind != TokenizerKind::automatic ||
                       !settings.dictionary.empty();
    tokenizer = named ? open_tokenizer(settings) : sources.offered;
  }
  if (tokenizer == nullptr) {
    throw_usage("tokenizer.file", "is not given, and there is no model.from to take one from",
                "--model.from RUN, or --tokenizer.file vocab.txt for a new model");
  }
  require_sentence_tokens(*tokenizer);
  return tokenizer;
}

BucketOptions text_bucket_options(const Settings& settings) {
  constexpr std::int64_t kAllLengths = 1 << 30;
  BucketOptions options{.seed = settings.seed};
  if (settings.training.batch_tokens > 0) {
    options.tokens = settings.training.batch_tokens;
  } else {
    options.sequences = settings.training.batch;
    options.bucket_width = kAllLengths;
  }
  return options;
}

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts) {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  return lengths;
}

}  // namespace roformer
