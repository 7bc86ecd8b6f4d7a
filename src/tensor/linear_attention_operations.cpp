#include "tensor/linear_attention_operations.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"

namespace roformer {
namespace {

constexpr std::int64_t kChunk = 32;  // queries that meet their own keys as a matrix

void check(const at::Tensor& query, const at::Tensor& key) {
  ROFORMER_ASSERT(query.dim() == 4 && key.sizes() == query.sizes() &&
                  query.scalar_type() == accumulate_type(query.scalar_type()));
}

// y = x times this.
double input_scale(const at::Tensor& x) {
  return std::pow(static_cast<double>(x.size(-1)), -0.25);
}

// The stabiliser of M y; undefined for none.
at::Tensor stabilizer_of(const FavorInputs& in, const at::Tensor& projected) {
  switch (in.stabilizer) {
    case FavorStabilizer::none:
      return {};
    case FavorStabilizer::of_token:
      return projected.detach().amax(-1, true);
    case FavorStabilizer::of_head:
      break;
  }
  const at::Tensor largest = projected.detach().amax({-2, -1}, true);
  return in.least.defined() ? at::maximum(largest, in.least) : largest;
}

}  // namespace

at::Tensor causal_products(const at::Tensor& query, const at::Tensor& key,
                           const at::Tensor& value) {
  check(query, key);
  const std::int64_t batch = query.size(0), heads = query.size(1), length = query.size(2);
  if (length == 1) return causal_denominators(query, key) * value;  // a decoding step
  const std::int64_t chunk = std::min(kChunk, length), chunks = (length + chunk - 1) / chunk;
  const auto split = [&](const at::Tensor& x) {  // [B, H, N, C, ..], zeros after the end
    const std::int64_t missing = chunks * chunk - length;
    const at::Tensor whole = missing > 0 ? at::constant_pad_nd(x, {0, 0, 0, missing}) : x;
    return whole.reshape({batch, heads, chunks, chunk, x.size(-1)});
  };
  const at::Tensor q = split(query), k = split(key), v = split(value);
  at::Tensor sums = at::matmul(at::matmul(q, k.transpose(-2, -1)).tril(), v);
  if (chunks > 1) {
    const at::Tensor states = at::matmul(k.transpose(-2, -1), v).cumsum(2);  // [B, H, N, F, D]
    sums = at::cat({sums.narrow(2, 0, 1),
                    sums.narrow(2, 1, chunks - 1) +
                        at::matmul(q.narrow(2, 1, chunks - 1), states.narrow(2, 0, chunks - 1))},
                   2);
  }
  return sums.flatten(2, 3).narrow(-2, 0, length);
}

at::Tensor causal_denominators(const at::Tensor& query, const at::Tensor& key) {
  check(query, key);
  return (query * (key.size(2) == 1 ? key : key.cumsum(-2))).sum(-1, true);
}

FavorFeatures favor_features(const FavorInputs& in) {
  const at::Tensor y = in.x * input_scale(in.x);
  const at::Tensor projected = at::matmul(y, in.matrix.t().to(in.x.options()));
  const at::Tensor stabilizer = stabilizer_of(in, projected);
  at::Tensor exponent = projected - (y * y).sum(-1, true) / 2;
  if (stabilizer.defined()) exponent = exponent - stabilizer;
  FavorFeatures result{.features = (exponent.exp() + in.epsilon) * favor_share(in.matrix.size(0))};
  if (in.stabilizer == FavorStabilizer::of_head) result.stabilizer = stabilizer;
  return result;
}

double favor_share(std::int64_t features) {
  return 1 / std::sqrt(static_cast<double>(features));
}

}  // namespace roformer
