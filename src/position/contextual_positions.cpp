#include "position/contextual_positions.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/gradient.h"
#include "tensor/loops.h"

namespace roformer {
namespace {

// One row's interpolation: whole positions below and above, and the share of the one above.
template <typename T>
struct Between {
  std::int64_t low, high;
  T share;
  explicit Between(T position)
      : low(static_cast<std::int64_t>(std::floor(position))),
        high(static_cast<std::int64_t>(std::ceil(position))),
        share(position - static_cast<T>(low)) {}
};

template <typename T, typename Function>
void for_rows_of(const at::Tensor& pairs, const Function& function) {
  const std::int64_t keys = pairs.size(-1);
  at::parallel_for(0, pairs.numel() / std::max<std::int64_t>(1, keys), 16,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) function(row, row * keys);
                   });
}

template <typename T>
void add_products(const at::Tensor& scores, const at::Tensor& gates, const at::Tensor& products) {
  T* const s = scores.mutable_data_ptr<T>();
  const T* const g = gates.const_data_ptr<T>();
  const T* const z = products.const_data_ptr<T>();
  const std::int64_t keys = scores.size(-1), count = products.size(-1);
  for_rows_of<T>(scores, [&](std::int64_t row, std::int64_t start) {
    T sum = 0;
    for (std::int64_t j = keys; j-- > 0;) {
      sum += g[start + j];
      const Between<T> at(std::min(sum, static_cast<T>(count - 1)));
      s[start + j] +=
          z[row * count + at.low] + (z[row * count + at.high] - z[row * count + at.low]) * at.share;
    }
  });
}

// The gradient of the scores becomes that through the gates too; adds to that of the products.
template <typename T>
void add_gradients(const at::Tensor& slopes, const at::Tensor& gates, const at::Tensor& products,
                   const at::Tensor& to_products) {
  T* const s = slopes.mutable_data_ptr<T>();
  const T* const g = gates.const_data_ptr<T>();
  const T* const z = products.const_data_ptr<T>();
  T* const dz = to_products.mutable_data_ptr<T>();
  const std::int64_t keys = slopes.size(-1), count = products.size(-1);
  for_rows_of<T>(slopes, [&](std::int64_t row, std::int64_t start) {
    const T last = static_cast<T>(count - 1);
    thread_local std::vector<T> to_position;
    to_position.assign(static_cast<std::size_t>(keys), 0);
    T sum = 0;
    for (std::int64_t j = keys; j-- > 0;) {
      sum += g[start + j];
      const Between<T> at(std::min(sum, last));
      const T slope = s[start + j];
      dz[row * count + at.low] += slope * (1 - at.share);
      dz[row * count + at.high] += slope * at.share;
      if (sum < last) {
        to_position[static_cast<std::size_t>(j)] =
            slope * (z[row * count + at.high] - z[row * count + at.low]);
      }
    }
    T to_gate = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      to_gate += to_position[static_cast<std::size_t>(j)];
      s[start + j] += to_gate * g[start + j] * (1 - g[start + j]);
    }
  });
}

at::Tensor gates_of(const at::Tensor& scores, const at::Tensor& mask) {
  at::Tensor gates = at::sigmoid(scores);
  return mask.defined() ? gates.masked_fill(mask.logical_not(), 0) : gates;
}

at::Tensor composed(const at::Tensor& scores, const at::Tensor& products, const at::Tensor& mask) {
  const at::Tensor position = contextual_positions(scores, mask, products.size(-1));
  const at::Tensor low = position.detach().floor(), high = position.detach().ceil();
  const at::Tensor below = at::gather(products, -1, low.to(at::kLong));
  const at::Tensor above = at::gather(products, -1, high.to(at::kLong));
  return scores + above * (position - low) + below * (1 - position + low);
}

}  // namespace

at::Tensor contextual_positions(const at::Tensor& scores, const at::Tensor& mask,
                                std::int64_t positions) {
  return gates_of(scores, mask).flip(-1).cumsum(-1).flip(-1).clamp_max(positions - 1);
}

at::Tensor add_contextual_products(const at::Tensor& scores, const at::Tensor& products,
                                   const at::Tensor& mask) {
  if (!runs_loops(scores)) return composed(scores, products, mask);
  GradientRecorder recorder("attention/contextual_positions", {scores, products});
  const at::Tensor result = scores.detach();
  const at::Tensor gates = gates_of(result, mask), held = products.detach().contiguous();
  const bool wide = result.scalar_type() == at::kDouble;
  ROFORMER_ASSERT(result.is_contiguous() && (wide || result.scalar_type() == at::kFloat));
  wide ? add_products<double>(result, gates, held) : add_products<float>(result, gates, held);
  return recorder.finish(result, [gates, held, wide](const Gradients& gradients) -> Gradients {
    const at::Tensor slopes = gradients[0].contiguous();
    const at::Tensor to_products = at::zeros_like(held);
    wide ? add_gradients<double>(slopes, gates, held, to_products)
         : add_gradients<float>(slopes, gates, held, to_products);
    return {slopes, to_products};
  });
}

}  // namespace roformer
