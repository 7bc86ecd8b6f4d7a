#include "tasks/classifier.h"

#include <vector>

#include "base/error.h"
#include "tasks/pooled_texts.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// Keeps the head's dropout apart from the encoder's.
constexpr std::uint64_t kHeadDropout = 0x68656164;

}  // namespace

Classifier::Classifier(const Settings& settings, std::int64_t vocabulary,
                       const ClassifierShape& shape, const ComputePlan& plan)
    : plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      encoder_(stack_settings(settings, vocabulary), parameters_),
      head_({.kind = resolved_head(shape.head, settings),
             .outputs = shape.outputs,
             .dropout = shape.head_dropout},
            encoder_, parameters_),
      pooling_(shape.pooling) {
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

at::Tensor Classifier::forward(const TextBatch& batch, const ForwardMode& mode) const {
  const at::Tensor pooled = pooled_states(
      {.stack = encoder_, .parameters = parameters_, .plan = plan_, .pooling = pooling_}, batch,
      mode);
  return head_.forward(pooled, mode.training, dropout_key({mode.key, kHeadDropout}));
}

at::Tensor Classifier::predict(std::span<const EncodedText> texts,
                               const WorkProgress& progress) const {
  return predict(texts, *make_single_process(), progress);
}

at::Tensor Classifier::predict(std::span<const EncodedText> texts, Processes& processes,
                               const WorkProgress& progress) const {
  return outputs_of_texts(
      texts, head_.outputs(), [this](const TextBatch& batch) { return forward(batch, {}); },
      processes, progress);
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
