#include "decoding/next_token.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include "base/error.h"

namespace roformer {

NextToken::NextToken(Parts parts) : parts_(parts) {
  ROFORMER_ASSERT(parts.encoder.settings().causal);
}

at::Tensor NextToken::append(const at::Tensor& ids) {
  const c10::AutoGradMode no_gradient(false);
  const bool cached = parts_.cache == CacheUse::automatic &&
                      parts_.encoder.settings().attention.kernel == AttentionKernel::softmax;
  if (!cached) text_ = text_.defined() ? at::cat({text_, ids}, 1) : ids;
  const at::Tensor& input = cached ? ids : text_;
  const std::int64_t texts = input.size(0), length = input.size(1);
  const TokenLayout layout = TokenLayout::uniform(texts, length);
  return parts_.head.logits(
      parts_.encoder.forward({.ids = input.reshape({-1}),
                              .layout = layout,
                              .rows = at::arange(length - 1, texts * length, length, ids.options()),
                              .precision = parts_.precision,
                              .cache = cached ? &cache_ : nullptr}));
}

}  // namespace roformer
