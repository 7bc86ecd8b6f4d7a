#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <atomic>

#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

// Logits of one block: 32 MB of floats, so that it stays in a large cache between its passes.
constexpr std::int64_t kBlockNumbers = std::int64_t{1} << 23;

// Loss and gradients of the logits of one block, in place. Returns how many were right.
std::int64_t block_loss(at::Tensor& logits, const at::Tensor& bias, const at::Tensor& labels,
                        double* losses) {
  if (!logits.is_cpu()) {
    logits.add_(bias);
    const at::Tensor wide = at::log_softmax(logits, 1, at::kFloat);
    const at::Tensor chosen = wide.gather(1, labels.unsqueeze(1));
    const at::Tensor correct = chosen.squeeze(1) >= wide.amax(1);
    at::Tensor host = at::from_blob(losses, {labels.numel()}, at::kDouble);
    host.copy_(-chosen.squeeze(1));
    logits.copy_(wide.exp_());
    logits.scatter_add_(1, labels.unsqueeze(1), at::full_like(chosen, -1).to(logits.scalar_type()));
    return correct.sum().item<std::int64_t>();
  }
  std::atomic<std::int64_t> correct = 0;
  with_type(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const at::Tensor typed = bias.to(accumulate_type(logits.scalar_type())).contiguous();
    T* const data = logits.mutable_data_ptr<T>();
    const auto* const shift = typed.const_data_ptr<kernels::Accumulate<T>>();
    const auto* const label = labels.const_data_ptr<std::int64_t>();
    const std::int64_t columns = logits.size(1);
    for_rows(logits.size(0), columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        bool right = false;
        losses[row] = kernels::table<T>().cross_entropy_row(data + row * columns, shift, columns,
                                                            label[row], &right);
        if (right) ++correct;
      }
    });
  });
  return correct;
}

}  // namespace

// The gradients with respect to all inputs are finished in the forward pass and only scaled in the
// backward one: the logits are needed once, and nothing of their size outlives its block. Where one
// block holds all places, its product with the states waits for the backward pass, which adds it to
// the table's gradient without a tensor in between.
CrossEntropy linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& table,
                                  const at::Tensor& bias, const at::Tensor& labels) {
  GradientRecorder recorder({hidden, table, bias});
  const bool trains = recorder.wanted();
  const at::Tensor states = hidden.detach().contiguous();
  const at::Tensor typed = table.detach().to(states.scalar_type());
  const std::int64_t places = states.size(0), vocabulary = typed.size(0);
  CrossEntropy result;
  result.losses = at::zeros({places}, at::kDouble);
  at::Tensor hidden_gradient, table_gradient, bias_gradient;
  if (trains) {
    hidden_gradient = at::empty_like(states);
    bias_gradient = at::zeros_like(bias);
  }
  const std::int64_t block =
      std::clamp<std::int64_t>(kBlockNumbers / vocabulary, 1, std::max<std::int64_t>(places, 1));
  at::Tensor buffer = at::empty({std::min(block, places), vocabulary}, states.options());
  for (std::int64_t begin = 0; begin < places; begin += block) {
    const std::int64_t size = std::min(block, places - begin);
    at::Tensor logits = buffer.narrow(0, 0, size);
    const at::Tensor rows = states.narrow(0, begin, size);
    at::mm_out(logits, rows, typed.t());
    result.correct += block_loss(logits, bias, labels.narrow(0, begin, size),
                                 result.losses.mutable_data_ptr<double>() + begin);
    if (!trains) continue;
    at::Tensor part = hidden_gradient.narrow(0, begin, size);
    at::mm_out(part, logits, typed);
    if (size < places) {
      if (begin == 0) table_gradient = at::zeros_like(typed);
      table_gradient.addmm_(logits.t(), rows);
    }
    bias_gradient.add_(logits.sum(0, false, bias.scalar_type()));
  }
  result.loss_sum = recorder.finish(
      result.losses.sum().to(hidden.device()), [=](const Gradients& gradients) -> Gradients {
        const double scale = gradients[0].item<double>();
        at::Tensor from_table;
        at::Tensor total = table.grad();
        if (!total.defined()) total = from_table = at::zeros_like(table);
        if (table_gradient.defined()) {
          total.add_(table_gradient, scale);
        } else if (total.scalar_type() == states.scalar_type()) {
          total.addmm_(buffer.t(), states, 1, scale);
        } else {
          total.add_(at::mm(buffer.t(), states), scale);
        }
        return {hidden_gradient * scale, from_table, bias_gradient * scale};
      });
  return result;
}

}  // namespace roformer
