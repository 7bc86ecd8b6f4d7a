#include "position/replaced_scores.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "tensor/gradient.h"
#include "tensor/loops.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr std::int64_t kChunk = 128;  // queries whose far scores are held at a time
constexpr std::int64_t kScoresOnGpu = 1 << 24;

// The texts whose far scores are held at a time. A CPU keeps those of one in its cache; a GPU waits
// for the host where each text has operations of its own.
std::int64_t texts_together(const at::Tensor& scores) {
  if (runs_loops(scores)) return 1;
  const std::int64_t rows = std::min(kChunk, scores.size(2));
  return std::max<std::int64_t>(1, kScoresOnGpu / (scores.size(1) * rows * scores.size(3)));
}

}  // namespace

at::Tensor past_of_pairs(const AttentionContext& context) {
  return context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0);
}

at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs) {
  GradientRecorder recorder("attention/replaced_scores", {scores, query, key});
  struct Part {
    std::int64_t text, texts;
    std::int64_t row, rows;  // queries; all keys
    // Of a tensor with a row for each query, or for each key.
    at::Tensor of_queries(const at::Tensor& all) const {
      return all.narrow(0, text, texts).narrow(2, row, rows);
    }
    at::Tensor of_keys(const at::Tensor& all) const { return all.narrow(0, text, texts); }
  };
  std::vector<Part> parts;
  std::vector<bool> is_far;  // has the chunk of queries any far pair
  for (const at::Tensor& rows : far_pairs.split(kChunk)) {
    is_far.push_back(rows.any().item<bool>());
  }
  const std::int64_t together = texts_together(scores);
  for (std::int64_t text = 0; text < scores.size(0); text += together) {
    const std::int64_t texts = std::min(together, scores.size(0) - text);
    for (std::int64_t row = 0; row < far_pairs.size(0); row += kChunk) {
      const std::int64_t rows = std::min(kChunk, far_pairs.size(0) - row);
      if (is_far[static_cast<std::size_t>(row / kChunk)]) parts.push_back({text, texts, row, rows});
    }
  }
  const at::Tensor result = scores.detach(), q = query.detach(), k = key.detach();
  const at::Tensor far = on_device(far_pairs, result.device());
  for (const Part& part : parts) {
    const at::Tensor rows = part.of_queries(result);
    const at::Tensor other = at::matmul(part.of_queries(q), part.of_keys(k).transpose(2, 3));
    rows.copy_(at::where(far.narrow(0, part.row, part.rows), other, rows));
  }
  return recorder.finish(result, [q, k, far, parts](const Gradients& gradients) -> Gradients {
    const at::Tensor slopes = gradients[0].contiguous();
    at::Tensor to_query = at::zeros(q.sizes(), q.options());
    at::Tensor to_key = at::zeros(k.sizes(), k.options());
    for (const Part& part : parts) {
      const at::Tensor mask = far.narrow(0, part.row, part.rows);
      const at::Tensor rows = part.of_queries(slopes);
      const at::Tensor other = rows * mask;
      part.of_queries(to_query).copy_(at::matmul(other, part.of_keys(k)));
      part.of_keys(to_key).add_(at::matmul(other.transpose(2, 3), part.of_queries(q)));
      rows.masked_fill_(mask, 0);
    }
    return {slopes, to_query, to_key};
  });
}

}  // namespace roformer
