#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/row_kernels.h"
#include "tensor/gradient.h"
#include "tensor/kernels.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {

composed::BlockLosses composed::cross_entropy(const at::Tensor& logits, const at::Tensor& bias,
                                              const at::Tensor& labels, double smoothing) {
  logits.add_(bias);
  BlockLosses result{.correct = logits.argmax(1) == labels};  // of equals the first
  const at::Tensor without = labels < 0, column = labels.clamp_min(0).unsqueeze(1);
  const at::Tensor logarithms = at::log_softmax(logits, 1, accumulate_type(logits.scalar_type()));
  const auto counted = [&](const at::Tensor& x) {
    return x.to(at::kDouble).masked_fill(without, 0);
  };
  result.losses = counted(-logarithms.gather(1, column).squeeze(1));
  result.smoothed = result.losses;
  if (smoothing > 0) {
    result.smoothed = result.losses * (1 - smoothing) - counted(logarithms.mean(1)) * smoothing;
  }
  // In the type of the logarithms: near 1 a rounded probability leaves nothing of 1 - p.
  at::Tensor gradient = logarithms.exp_().sub_(smoothing / static_cast<double>(logits.size(1)));
  gradient.scatter_add_(1, column, at::full(column.sizes(), smoothing - 1, gradient.options()));
  logits.copy_(gradient.masked_fill_(without.unsqueeze(1), 0));
  return result;
}

namespace {

// Of the logits of one block. A GPU has the memory, and products that fill it.
constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;
constexpr std::int64_t kBlockBytesOfGpu = std::int64_t{512} << 20;

// Of how many targets and words a product is made on a GPU in bfloat16: both are any number, and
// tensor cores work at full speed on multiples only (cuBLAS on an H200, 2,457 targets of 30,522
// words of 768: 0.50 ms instead of 0.18).
constexpr std::int64_t kTogetherOnGpu = 64;

std::int64_t rounded_up(std::int64_t rows, std::int64_t multiple) {
  return (rows + multiple - 1) / multiple * multiple;
}

// Losses of the logits of one block; the logits become their gradient.
void block_losses(const at::Tensor& logits, const at::Tensor& bias, const at::Tensor& labels,
                  double smoothing, const composed::BlockLosses& losses) {
  const Form form = form_of(logits);
  if (form == Form::composed) {
    const composed::BlockLosses made = composed::cross_entropy(logits, bias, labels, smoothing);
    losses.losses.copy_(made.losses);
    losses.smoothed.copy_(made.smoothed);
    losses.correct.copy_(made.correct);
    return;
  }
  with_type(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const at::Tensor typed = bias.to(accumulate_type(logits.scalar_type())).contiguous();
    T* const data = logits.mutable_data_ptr<T>();
    const auto* const shift = typed.const_data_ptr<kernels::Accumulate<T>>();
    const auto* const label = labels.const_data_ptr<std::int64_t>();
    auto* const loss = losses.losses.mutable_data_ptr<double>();
    auto* const smoothed = losses.smoothed.mutable_data_ptr<double>();
    auto* const correct = losses.correct.mutable_data_ptr<bool>();
    const std::int64_t columns = logits.size(1), stride = logits.stride(0);
    if (form == Form::gpu_kernels) {
      return gpu::cross_entropy(
          gpu::CrossEntropyRows<T>{
              .row = {.logits = data, .bias = shift, .columns = columns, .smoothing = smoothing},
              .rows = logits.size(0),
              .stride = stride,
              .labels = label,
              .losses = loss,
              .smoothed = smoothed,
              .correct = correct},
          logits.device());
    }
    for_rows(logits.size(0), columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const kernels::RowLoss made =
            kernels::table<T>().cross_entropy_row({.logits = data + row * stride,
                                                   .bias = shift,
                                                   .columns = columns,
                                                   .label = label[row],
                                                   .smoothing = smoothing});
        loss[row] = made.loss;
        smoothed[row] = made.smoothed;
        correct[row] = made.correct;
      }
    });
  });
}

// So many rows of x in that type, and zeros behind them where there are fewer.
at::Tensor with_rows(const at::Tensor& x, std::int64_t rows, at::ScalarType type) {
  if (x.size(0) >= rows) return x.narrow(0, 0, rows).to(type).contiguous();
  at::Tensor padded = at::empty({rows, x.size(1)}, x.options().dtype(type));
  padded.narrow(0, 0, x.size(0)).copy_(x);
  padded.narrow(0, x.size(0), rows - x.size(0)).zero_();
  return padded;
}

}  // namespace

// The gradients with respect to all inputs are finished in the forward pass and only scaled in the
// backward one: the logits are needed once, and nothing of their size outlives its block. Where one
// block holds all targets, its product with the states waits for the backward pass, which adds it
// to the table's gradient without a tensor in between.
CrossEntropy linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& table,
                                  const at::Tensor& bias, const at::Tensor& labels,
                                  double smoothing) {
  GradientRecorder recorder("loss/cross_entropy", {hidden, table, bias});
  const bool trains = recorder.wanted();
  const std::int64_t targets = labels.size(0), vocabulary = table.size(0);
  ROFORMER_ASSERT(hidden.size(0) >= targets);
  const bool loops = runs_loops(hidden), narrow = hidden.scalar_type() == at::kBFloat16;
  const std::int64_t words_together = loops || !narrow ? 1 : kTogetherOnGpu;
  const std::int64_t together = loops && narrow ? kRowsTogether : words_together;
  const at::Tensor states =
      with_rows(hidden.detach(), rounded_up(targets, together), hidden.scalar_type());
  const at::Tensor typed =
      with_rows(table.detach(), rounded_up(vocabulary, words_together), states.scalar_type());
  const auto per_target = [&](at::ScalarType type) {
    return at::empty({targets}, at::TensorOptions().dtype(type).device(states.device()));
  };
  const composed::BlockLosses losses{.losses = per_target(at::kDouble),
                                     .smoothed = per_target(at::kDouble),
                                     .correct = per_target(at::kBool)};
  at::Tensor hidden_gradient, table_gradient, bias_gradient;
  if (trains) {
    hidden_gradient = at::empty_like(states);
    bias_gradient = at::zeros_like(bias);
  }
  const auto row_bytes = typed.size(0) * static_cast<std::int64_t>(states.element_size());
  const std::int64_t bytes = loops ? kBlockBytes : kBlockBytesOfGpu;
  const std::int64_t block = std::max(together, bytes / row_bytes / together * together);
  const at::Tensor buffer =
      at::empty({std::min(block, states.size(0)), typed.size(0)}, states.options());
  for (std::int64_t begin = 0; begin < targets; begin += block) {
    const std::int64_t size = std::min(block, targets - begin);
    const std::int64_t padded = rounded_up(size, together);
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, begin, size); };
    const at::Tensor rows = states.narrow(0, begin, padded);
    at::Tensor logits = buffer.narrow(0, 0, padded);
    at::mm_out(logits, rows, typed.t());
    block_losses(logits.narrow(0, 0, size).narrow(1, 0, vocabulary), bias, part(labels), smoothing,
                 {part(losses.losses), part(losses.smoothed), part(losses.correct)});
    if (!trains) continue;
    logits.narrow(0, size, padded - size).zero_();
    at::Tensor to_rows = hidden_gradient.narrow(0, begin, padded);
    at::mm_out(to_rows, logits, typed);
    if (size < targets) {
      if (begin == 0) {
        const auto wide = typed.options().dtype(accumulate_type(typed.scalar_type()));
        table_gradient = at::zeros(table.sizes(), wide);
      }
      add_transposed_product(table_gradient, logits.narrow(1, 0, vocabulary), rows);
    }
    bias_gradient.add_(column_sums(logits.narrow(1, 0, vocabulary)));
  }
  const at::Tensor loss_sum = recorder.finish(
      losses.smoothed.sum(), [=, rows = hidden.size(0)](const Gradients& gradients) -> Gradients {
        const at::Tensor& scale = gradients[0];
        at::Tensor from_table;
        at::Tensor total = table.grad();
        if (!total.defined()) total = from_table = at::zeros_like(table);
        if (table_gradient.defined()) {
          total.add_(table_gradient.mul_(scale));
        } else {
          add_transposed_product(total, buffer.narrow(1, 0, vocabulary), states * scale);
        }
        const std::int64_t there = std::min(rows, hidden_gradient.size(0));
        at::Tensor to_hidden = hidden_gradient.narrow(0, 0, there) * scale;
        if (there < rows) to_hidden = with_rows(to_hidden, rows, to_hidden.scalar_type());
        return {to_hidden, from_table, bias_gradient * scale};
      });
  return {.loss_sum = loss_sum, .losses = losses.losses, .correct = losses.correct};
}

RowTops row_tops(at::Tensor& logits, const RowTopsRequest& request) {
  ROFORMER_ASSERT(logits.is_cpu() && logits.scalar_type() == at::kFloat && logits.is_contiguous());
  const std::int64_t rows = logits.size(0), columns = logits.size(1), wanted = request.wanted;
  ROFORMER_ASSERT(wanted >= 1 && wanted <= columns);
  RowTops result{.values = at::empty({rows, wanted}, logits.options()),
                 .ids = at::empty({rows, wanted}, logits.options().dtype(at::kLong)),
                 .normalizers = at::empty({rows}, logits.options())};
  float* const values = logits.mutable_data_ptr<float>();
  float* const normalizers = result.normalizers.mutable_data_ptr<float>();
  const kernels::RowTops<float> work{.logits = values,
                                     .columns = columns,
                                     .wanted = wanted,
                                     .values = result.values.mutable_data_ptr<float>(),
                                     .ids = result.ids.mutable_data_ptr<std::int64_t>(),
                                     .normalizers = normalizers};
  for_rows(rows, columns, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> left_out;
    for (std::int64_t row = begin; row < end; ++row) {
      left_out.clear();
      for (const std::int64_t column : request.excluded) {
        if (column < 0 || column >= columns) continue;
        float& value = values[row * columns + column];
        left_out.push_back(value);
        value = -std::numeric_limits<float>::infinity();
      }
      kernels::table<float>().row_tops(work, row, row + 1);
      if (request.renormalize) continue;
      double sum = normalizers[row];
      for (const float value : left_out) {
        const double larger = std::max<double>(sum, value), smaller = std::min<double>(sum, value);
        sum = larger + std::log1p(std::exp(smaller - larger));
      }
      normalizers[row] = static_cast<float>(sum);
    }
  });
  return result;
}

}  // namespace roformer
