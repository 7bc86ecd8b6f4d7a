#include "model/next_token.h"

#include <c10/core/GradMode.h>

#include <limits>

#include "base/error.h"
#include "tensor/aten.h"

namespace roformer {

NextToken::NextToken(Parts parts)
    : parts_(parts),
      cached_(parts.cache == CacheUse::automatic && parts.stack.can_cache()),
      keeps_text_(!cached_ ||
                  parts.stack.requires_cache_rebuild(1, std::numeric_limits<std::int64_t>::max())) {
  ROFORMER_ASSERT(parts.stack.settings().causal);
  forget();
}

void NextToken::forget() {
  cache_ = AttentionCache();
  cache_.expected_length = parts_.expected_length;
}

at::Tensor NextToken::append(const at::Tensor& ids) {
  const c10::AutoGradMode no_gradient(false);
  const at::Tensor added = ids.to(parts_.stack.embedding().table().device());
  const std::int64_t before = text_.defined() ? text_.size(1) : 0;
  if (keeps_text_) text_ = before > 0 ? at::cat({text_, added}, 1) : added;
  const bool anew =
      keeps_text_ && before > 0 && parts_.stack.requires_cache_rebuild(before, text_.size(1));
  if (anew) forget();
  const at::Tensor& input = cached_ && !anew ? added : text_;
  const std::int64_t texts = input.size(0), length = input.size(1);
  const TokenLayout layout = TokenLayout::uniform(texts, length);
  return parts_.head.logits(
      parts_.stack.forward({.ids = input.reshape({-1}),
                            .layout = layout,
                            .rows = at::arange(length - 1, texts * length, length, input.options()),
                            .precision = parts_.precision,
                            .cache = cached_ ? &cache_ : nullptr}));
}

void NextToken::reorder(std::span<const std::int64_t> rows) {
  if (cached_) cache_.reorder(rows);
  if (!keeps_text_) return;
  const at::Tensor index = at::tensor(at::IntArrayRef(rows.data(), rows.size()), at::kLong);
  if (text_.defined()) text_ = at::index_select(text_, 0, index.to(text_.device()));
}

}  // namespace roformer
