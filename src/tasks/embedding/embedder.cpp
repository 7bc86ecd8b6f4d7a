#include "tasks/embedding/embedder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>

#include "tasks/pooled_texts.h"

namespace roformer {

at::Tensor unit_rows(const at::Tensor& vectors) {
  constexpr double kLeast = 1e-12;  // as torch.nn.functional.normalize
  return vectors / at::linalg_vector_norm(vectors, 2, {1}, /*keepdim=*/true).clamp_min(kLeast);
}

Embedder::Embedder(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan)
    : settings_(settings.embedding),
      plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      encoder_(stack_settings(settings, vocabulary), parameters_) {
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

at::Tensor Embedder::forward(const TextBatch& batch, const ForwardMode& mode) const {
  return pooled_states({.stack = encoder_,
                        .parameters = parameters_,
                        .plan = plan_,
                        .pooling = settings_.pooling},
                       batch, mode)
      .to(at::kFloat);
}

at::Tensor Embedder::vectors(std::span<const EncodedText> texts, Processes& processes,
                             const WorkProgress& progress) const {
  return outputs_of_texts(
      texts, width(),
      [this](const TextBatch& batch) {
        const at::Tensor pooled = forward(batch, {});
        return settings_.normalize ? unit_rows(pooled) : pooled;
      },
      processes, progress);
}

at::Tensor Embedder::vectors(std::span<const EncodedText> texts,
                             const WorkProgress& progress) const {
  return vectors(texts, *make_single_process(), progress);
}

}  // namespace roformer
