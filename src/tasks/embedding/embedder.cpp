#include "tasks/embedding/embedder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>

namespace roformer {

at::Tensor unit_rows(const at::Tensor& vectors) {
  constexpr double kLeast = 1e-12;  // as torch.nn.functional.normalize
  return vectors / at::linalg_vector_norm(vectors, 2, {1}, /*keepdim=*/true).clamp_min(kLeast);
}

Embedder::Embedder(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan)
    : TextModel(settings, vocabulary, {.pooling = settings.embedding.pooling}, plan),
      normalize_(settings.embedding.normalize) {}

at::Tensor Embedder::predicted(const TextBatch& batch) const {
  const at::Tensor vectors = forward(batch, {});
  return normalize_ ? unit_rows(vectors) : vectors;
}

}  // namespace roformer
