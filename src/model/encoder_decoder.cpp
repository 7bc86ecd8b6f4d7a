#include "model/encoder_decoder.h"

#include <c10/core/GradMode.h>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/operations.h"

namespace roformer {
namespace {

at::Tensor shared_table(const EncoderDecoderSettings& settings, ParameterStore& parameters) {
  if (!settings.tie_embeddings) return {};
  ROFORMER_ASSERT(settings.encoder.model.vocabulary == settings.decoder.model.vocabulary);
  return add_token_table(settings.decoder.model, parameters);
}

}  // namespace

// The decoder's layers are deeper than the encoder's.
EncoderDecoder::EncoderDecoder(const EncoderDecoderSettings& settings, ParameterStore& parameters)
    : shared_table_(shared_table(settings, parameters)),
      encoder_(settings.encoder, ParameterScope(parameters).within("encoder."), shared_table_),
      decoder_(settings.decoder,
               ParameterScope(parameters)
                   .within("decoder.", static_cast<int>(settings.encoder.model.layers)),
               shared_table_) {
  const StackSettings& decoder = settings.decoder;
  ROFORMER_ASSERT(decoder.causal && decoder.cross_attention &&
                  decoder.model.width == settings.encoder.model.width);
  const std::int64_t vocabulary = decoder.model.vocabulary;
  const int depth =
      static_cast<int>(settings.encoder.model.layers + settings.decoder.model.layers) + 1;
  if (settings.tie_output) {
    output_ = decoder_.embedding().table();
    ROFORMER_ASSERT(output_.size(1) == decoder.model.width);
  } else {
    output_ = parameters.add({.name = "output.weight",
                              .shape = {vocabulary, decoder.model.width},
                              .initial = truncated_normal(decoder.model.initialization),
                              .depth = depth});
  }
  output_bias_ = settings.output_bias ? parameters.add({.name = "output.bias",
                                                        .shape = {vocabulary},
                                                        .initial = zeros(),
                                                        .decay = false,
                                                        .depth = depth})
                                      : at::zeros({vocabulary}, output_.options());
}

at::Tensor EncoderDecoder::encode(const at::Tensor& ids, const TokenLayout& source,
                                  const PassOptions& options, AttentionObserver* observer) const {
  return encoder_.forward({.ids = ids,
                           .layout = source,
                           .training = options.training,
                           .dropout_key = options.dropout_key,
                           .feature_key = options.feature_key,
                           .precision = options.precision,
                           .observer = observer});
}

at::Tensor EncoderDecoder::decode(const DecoderInputs& in, const PassOptions& options) const {
  return decoder_.forward({.ids = in.ids,
                           .layout = in.layout,
                           .rows = in.rows,
                           .training = options.training,
                           .dropout_key = options.dropout_key,
                           .feature_key = options.feature_key,
                           .precision = options.precision,
                           .cache = in.cache,
                           .memory = &in.memory,
                           .cross_request = in.cross_request,
                           .observer = in.observer});
}

at::Tensor EncoderDecoder::forward(const PairInputs& in, const PassOptions& options) const {
  const at::Tensor states = encode(in.source_ids, in.source, options, in.observers.encoder);
  CrossMemory memory(in.source, in.target);
  decoder_.remember(states, memory);
  return decode({.ids = in.target_ids,
                 .layout = in.target,
                 .memory = memory,
                 .rows = in.rows,
                 .cross_request = in.cross_request,
                 .observer = in.observers.decoder},
                options);
}

at::Tensor EncoderDecoder::logits(const at::Tensor& states) const {
  at::Tensor product = project(states.to(output_.scalar_type()), output_);
  // The product has no other reader. In decoding, a second tensor of logits would take as long to
  // write as a layer takes to compute.
  return c10::GradMode::is_enabled() ? product + output_bias_ : product.add_(output_bias_);
}

TranslationStep::TranslationStep(const EncoderDecoder& model, const at::Tensor& ids,
                                 const TokenLayout& source, Precision precision)
    : model_(model), precision_(precision), memory_(source) {
  ROFORMER_ASSERT(model.decoder().can_cache());
  const c10::AutoGradMode no_gradient(false);
  const at::Device device = model.output_table().device();
  model.decoder().remember(model.encode(ids.to(device), source, {.precision = precision}), memory_);
}

at::Tensor TranslationStep::append(const at::Tensor& ids) {
  const c10::AutoGradMode no_gradient(false);
  const at::Tensor added = ids.to(model_.output_table().device());
  const std::int64_t texts = added.size(0), length = added.size(1);
  const TokenLayout layout = TokenLayout::uniform(texts, length);
  const at::Tensor states =
      model_.decode({.ids = added.reshape({-1}),
                     .layout = layout,
                     .memory = memory_,
                     .rows = at::arange(length - 1, texts * length, length, added.options()),
                     .cache = &cache_},
                    {.precision = precision_});
  return model_.logits(states);
}

void TranslationStep::reorder(std::span<const std::int64_t> rows) {
  cache_.reorder(rows);
  memory_.reorder(rows);
}

}  // namespace roformer
