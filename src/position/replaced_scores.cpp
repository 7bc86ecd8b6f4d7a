#include "position/replaced_scores.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "tensor/gradient.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr std::int64_t kChunk = 128;  // queries whose far scores are held at a time

}  // namespace

at::Tensor past_of_pairs(const AttentionContext& context) {
  return context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0);
}

at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs) {
  GradientRecorder recorder("attention/replaced_scores", {scores, query, key});
  struct Part {
    std::int64_t row, rows;  // queries; all keys
  };
  std::vector<Part> parts;
  for (std::int64_t row = 0; row < far_pairs.size(0); row += kChunk) {
    const std::int64_t rows = std::min(kChunk, far_pairs.size(0) - row);
    if (far_pairs.narrow(0, row, rows).any().item<bool>()) parts.push_back({row, rows});
  }
  const at::Tensor result = scores.detach(), q = query.detach(), k = key.detach();
  const at::Tensor far = on_device(far_pairs, result.device());
  for (std::int64_t b = 0; b < result.size(0); ++b) {
    for (const Part& part : parts) {
      const at::Tensor rows = result[b].narrow(1, part.row, part.rows);
      const at::Tensor other = at::bmm(q[b].narrow(1, part.row, part.rows), k[b].transpose(1, 2));
      rows.copy_(at::where(far.narrow(0, part.row, part.rows), other, rows));
    }
  }
  return recorder.finish(result, [q, k, far, parts](const Gradients& gradients) -> Gradients {
    const at::Tensor slopes = gradients[0].contiguous();
    at::Tensor to_query = at::zeros(q.sizes(), q.options());
    at::Tensor to_key = at::zeros(k.sizes(), k.options());
    for (std::int64_t b = 0; b < slopes.size(0); ++b) {
      for (const Part& part : parts) {
        const at::Tensor mask = far.narrow(0, part.row, part.rows);
        const at::Tensor rows = slopes[b].narrow(1, part.row, part.rows);
        const at::Tensor other = rows * mask;
        to_query[b].narrow(1, part.row, part.rows).copy_(at::bmm(other, k[b]));
        to_key[b].add_(at::bmm(other.transpose(1, 2), q[b].narrow(1, part.row, part.rows)));
        rows.masked_fill_(mask, 0);
      }
    }
    return {slopes, to_query, to_key};
  });
}

}  // namespace roformer
