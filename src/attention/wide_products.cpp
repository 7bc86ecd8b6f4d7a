#include "attention/wide_products.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/matmul.h>

#include "tensor/dispatch.h"
#include "tensor/gradient.h"

namespace roformer {

at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b) {
  const at::ScalarType type = a.scalar_type(), wide = accumulate_type(type);
  if (type == wide || a.is_cpu()) return at::matmul(a.to(wide), b.to(wide));
  return at::bmm(a.flatten(0, 1), b.flatten(0, 1), wide)
      .view({a.size(0), a.size(1), a.size(2), b.size(3)});
}

at::Tensor content_scores(const at::Tensor& query, const at::Tensor& key, double scale) {
  GradientRecorder recorder("attention/scores", {query, key});
  const at::Tensor q = query.detach(), k = key.detach(), across = k.transpose(-2, -1);
  // Queries are shorter than their scores. On a GPU the product takes them as they are stored.
  const at::Tensor scores =
      q.is_cpu() ? wide_product(q.to(accumulate_type(q.scalar_type())) * scale, across)
                 : wide_product(q, across).mul_(scale);
  return recorder.finish(scores, [q, k, scale](const Gradients& gradients) -> Gradients {
    const at::Tensor& slope = gradients[0];
    if (slope.scalar_type() == q.scalar_type()) {
      return {at::matmul(slope, k).mul_(scale), at::matmul(slope.transpose(-2, -1), q).mul_(scale)};
    }
    // Rounded once: the scale is no power of two everywhere.
    const at::Tensor narrow = (slope * scale).to(q.scalar_type());
    return {at::matmul(narrow, k), at::matmul(narrow.transpose(-2, -1), q)};
  });
}

at::Tensor weighted_values(const at::Tensor& probabilities, const at::Tensor& value) {
  GradientRecorder recorder("attention/weighted_values", {probabilities, value});
  const at::Tensor v = value.detach(), p = probabilities.detach().to(v.scalar_type());
  return recorder.finish(at::matmul(p, v), [p, v](const Gradients& gradients) -> Gradients {
    return {wide_product(gradients[0], v.transpose(-2, -1)),
            at::matmul(p.transpose(-2, -1), gradients[0])};
  });
}

}  // namespace roformer
