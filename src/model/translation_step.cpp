#include "model/translation_step.h"

#include <ATen/ops/arange.h>
#include <c10/core/GradMode.h>

#include "base/error.h"

namespace roformer {

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
