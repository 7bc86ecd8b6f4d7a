#include "position/replaced_scores.h"

#include <algorithm>
#include <vector>

#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"
#include "tensor/token_layout.h"

namespace roformer {
namespace {

constexpr std::int64_t kChunk = 128;                // queries whose far scores are held at a time
constexpr std::int64_t kMostScoresOnGpu = 1 << 24;  // far scores of several texts, held at a time

// On a CPU, the far scores of one text fit into the cache. On a GPU, separate operations for each
// text would make the GPU wait for the host.
std::vector<TextBlock> far_blocks(const at::Tensor& scores, const at::Tensor& far_pairs,
                                  std::int64_t most) {
  std::vector<bool> is_far;  // for each chunk of queries: whether it has far pairs
  for (const at::Tensor& rows : far_pairs.split(kChunk)) {
    is_far.push_back(rows.any().item<bool>());
  }
  std::vector<TextBlock> blocks =
      text_blocks(scores.size(0), scores.size(2), kChunk, scores.size(1) * scores.size(3), most);
  std::erase_if(blocks, [&](const TextBlock& block) {
    return !is_far[static_cast<std::size_t>(block.row / kChunk)];
  });
  return blocks;
}

}  // namespace

at::Tensor past_of_pairs(const AttentionContext& context) {
  return context.queries.tensor().unsqueeze(1) - context.keys.tensor().unsqueeze(0);
}

at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs, std::optional<std::int64_t> most) {
  GradientRecorder recorder("attention/replaced_scores", {scores, query, key});
  const std::vector<TextBlock> blocks =
      far_blocks(scores, far_pairs, most.value_or(runs_loops(scores) ? 0 : kMostScoresOnGpu));
  const at::Tensor result = scores.detach(), q = query.detach(), k = key.detach();
  const at::Tensor far = on_device(far_pairs, result.device());
  for (const TextBlock& block : blocks) {
    const at::Tensor rows = block.rows_of(result);
    const at::Tensor other = at::matmul(block.rows_of(q), block.texts_of(k).transpose(2, 3));
    rows.copy_(at::where(far.narrow(0, block.row, block.rows), other, rows));
  }
  return recorder.finish(result, [q, k, far, blocks](const Gradients& gradients) -> Gradients {
    const at::Tensor slopes = gradients[0].contiguous();
    at::Tensor to_query = at::zeros(q.sizes(), q.options());
    at::Tensor to_key = at::zeros(k.sizes(), k.options());
    for (const TextBlock& block : blocks) {
      const at::Tensor mask = far.narrow(0, block.row, block.rows);
      const at::Tensor rows = block.rows_of(slopes);
      const at::Tensor other = rows * mask;
      block.rows_of(to_query).copy_(at::matmul(other, block.texts_of(k)));
      block.texts_of(to_key).add_(at::matmul(other.transpose(2, 3), block.rows_of(q)));
      rows.masked_fill_(mask, 0);
    }
    return {slopes, to_query, to_key};
  });
}

SharedRows::SharedRows(const at::Tensor& scores, const at::Tensor& shared) {
  if (!shared.defined()) return;
  std::vector<std::int64_t> sizes = scores.sizes().vec();
  // Drops leading dimensions of size 1, which all rows share.
  at::Tensor x = shared;
  while (x.dim() > 2 && x.size(0) == 1) x = x.squeeze(0);
  sizes.erase(sizes.begin(), sizes.end() - x.dim());
  rows_ = x.expand(sizes).contiguous();
  count_ = std::max<std::int64_t>(1, rows_.numel() / std::max<std::int64_t>(1, scores.size(-1)));
}

}  // namespace roformer
