#include "attention/sdpa_attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <optional>

#include "tensor/dispatch.h"
#include "tensor/few_queries.h"
#include "tensor/loops.h"

namespace roformer {

at::Tensor sdpa_attention(const SdpaInputs& in) {
  const bool causal = in.causal && !in.additive.defined() && in.query.size(2) > 1;
  if (const FewQueryAttention few{.query = in.query,
                                  .key = in.key,
                                  .value = in.value,
                                  .additive = in.additive,
                                  .scale = in.scale};
      !causal && can_attend_few(few)) {
    return attend_few(few);
  }
  const auto mask_of = [&](at::ScalarType type) {
    return in.additive.defined() ? std::optional(in.additive.to(type)) : std::nullopt;
  };
  const at::ScalarType type = in.query.scalar_type();
  if (!runs_loops(in.query)) {
    return at::scaled_dot_product_attention(in.query, in.key, in.value, mask_of(type),
                                            /*dropout_p=*/0.0, causal, in.scale);
  }
  // The kernel's backward pass computes the gradient of the scores from the output: a rounded
  // output loses the small gradient at a nearly certain key (tensor/cpu/attention_tile.h).
  const bool learns =
      at::GradMode::is_enabled() &&
      (in.query.requires_grad() || in.key.requires_grad() || in.value.requires_grad());
  const at::ScalarType used = learns ? accumulate_type(type) : type;
  return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
                         in.query.to(used), in.key.to(used), in.value.to(used),
                         /*dropout_p=*/0.0, causal, mask_of(used), in.scale))
      .to(type);
}

}  // namespace roformer
