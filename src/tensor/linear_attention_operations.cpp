#include "tensor/linear_attention_operations.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {
namespace {

constexpr std::int64_t kChunk = 32;  // queries that meet their own keys as a matrix

// One head of one text in [B, H, L, C], whose columns lie side by side.
template <typename T>
struct TextHead {
  T* data = nullptr;
  std::int64_t row = 0, columns = 0;

  TextHead(const at::Tensor& x, std::int64_t batch, std::int64_t head)
      : data(x.data_ptr<T>() + batch * x.stride(0) + head * x.stride(1)),
        row(x.size(2) == 1 ? x.size(3)
                           : x.stride(2)),  // LibTorch leaves that of one row as it comes
        columns(x.size(3)) {}
  T* at(std::int64_t token) const { return data + token * row; }
  Operand<T> from(std::int64_t token) const { return {.data = at(token), .row = row}; }
};

// Calls function(T{}) for features in float or double.
template <typename Function>
void with_features(const at::Tensor& x, const Function& function) {
  if (x.scalar_type() == at::kDouble) return function(double{});
  function(float{});
}

at::Tensor with_dense_rows(const at::Tensor& x) {
  return x.stride(-1) == 1 ? x : x.contiguous();
}

template <typename T>
Operand<T> transposed(Operand<T> operand) {
  operand.transposed = true;
  return operand;
}

// Calls function(batch, head) for every head of every text.
template <typename Function>
void for_heads(const at::Tensor& x, const Function& function) {
  const std::int64_t heads = x.size(1);
  for_each_in_turn(
      x.size(0) * heads, [&](std::int64_t i) { function(i / heads, i % heads); }, [] {});
}

// sums [rows of a, columns of b] = a b, or added to them.
template <typename T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Operand<T>& a,
             const Operand<T>& b, T* sums, std::int64_t row, bool add) {
  multiply<T>(
      {.m = m, .n = n, .k = k, .a = a, .b = b, .product = sums, .product_row = row, .add = add});
}

// pairs [count, count] = a b^T where the key is not behind the query, else 0.
template <typename T>
Operand<T> causal_pairs(std::int64_t count, std::int64_t columns, const Operand<T>& a,
                        const Operand<T>& b, T* pairs) {
  product<T>(count, count, columns, a, transposed(b), pairs, count, false);
  for (std::int64_t i = 0; i < count; ++i) {
    std::fill(pairs + i * count + i + 1, pairs + (i + 1) * count, T(0));
  }
  return {.data = pairs, .row = count};
}

// sums_i = sum over j <= i of (a_i . b_j) c_j.
template <typename T>
void causal_sums(const TextHead<T>& a, const TextHead<T>& b, const TextHead<T>& c,
                 const TextHead<T>& sums, std::int64_t length) {
  thread_local Scratch<T> pair_memory, state_memory;
  T* const pairs = pair_memory(kChunk * kChunk);
  T* const state = state_memory(b.columns * c.columns);
  const Operand<T> earlier{.data = state, .row = c.columns};
  for (std::int64_t first = 0; first < length; first += kChunk) {
    const std::int64_t count = std::min(kChunk, length - first);
    const Operand<T> own = causal_pairs<T>(count, a.columns, a.from(first), b.from(first), pairs);
    product<T>(count, c.columns, count, own, c.from(first), sums.at(first), sums.row, false);
    if (first > 0) {
      product<T>(count, c.columns, a.columns, a.from(first), earlier, sums.at(first), sums.row,
                 true);
    }
    if (first + count < length) {
      product<T>(b.columns, c.columns, count, transposed(b.from(first)), c.from(first), state,
                 c.columns, first > 0);
    }
  }
}

// The gradients of keys and values, sum over i >= j of (g_i . v_j) q_i and of (q_i . k_j) g_i,
// which share the state of the later queries.
template <typename T>
void key_and_value_gradients(const TextHead<T>& query, const TextHead<T>& key,
                             const TextHead<T>& value, const TextHead<T>& gradient,
                             const TextHead<T>& to_key, const TextHead<T>& to_value,
                             std::int64_t length) {
  thread_local Scratch<T> pair_memory, state_memory;
  T* const pairs = pair_memory(kChunk * kChunk);
  const std::int64_t features = query.columns, width = value.columns;
  T* const state = state_memory(features * width);
  const Operand<T> later{.data = state, .row = width};
  const std::int64_t chunks = (length + kChunk - 1) / kChunk;
  for (std::int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
    const std::int64_t first = chunk * kChunk, count = std::min(kChunk, length - first);
    const Operand<T> q = query.from(first), k = key.from(first), v = value.from(first),
                     g = gradient.from(first);
    const bool last = chunk == chunks - 1;
    const Operand<T> slopes = transposed(causal_pairs<T>(count, width, g, v, pairs));
    product<T>(count, features, count, slopes, q, to_key.at(first), to_key.row, false);
    const Operand<T> weights = transposed(causal_pairs<T>(count, features, q, k, pairs));
    product<T>(count, width, count, weights, g, to_value.at(first), to_value.row, false);
    if (!last) {
      product<T>(count, features, width, v, transposed(later), to_key.at(first), to_key.row, true);
      product<T>(count, width, features, k, later, to_value.at(first), to_value.row, true);
    }
    if (chunk > 0) {
      product<T>(features, width, count, transposed(q), g, state, width, !last);
    }
  }
}

Gradients product_gradients(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& gradient) {
  const at::Tensor to_query = at::empty_like(query), to_key = at::empty_like(key),
                   to_value = at::empty_like(value);
  with_features(query, [&](auto tag) {
    using T = decltype(tag);
    for_heads(query, [&](std::int64_t batch, std::int64_t head) {
      const auto rows = [&](const at::Tensor& x) { return TextHead<T>(x, batch, head); };
      const TextHead<T> q = rows(query), k = rows(key), v = rows(value), g = rows(gradient);
      causal_sums<T>(g, v, k, rows(to_query), query.size(2));
      key_and_value_gradients<T>(q, k, v, g, rows(to_key), rows(to_value), query.size(2));
    });
  });
  return {to_query, to_key, to_value};
}

at::Tensor composed_products(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value) {
  const std::int64_t batch = query.size(0), heads = query.size(1), length = query.size(2);
  const std::int64_t chunk = std::min(kChunk, length), chunks = (length + chunk - 1) / chunk;
  const auto split = [&](const at::Tensor& x) {  // [B, H, N, C, ..], zeros behind the end
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

// output_i = a_i . sum over j <= i of b_j.
template <typename T>
void running_products(const TextHead<T>& a, const TextHead<T>& b, const TextHead<T>& output,
                      std::int64_t length) {
  const std::int64_t columns = a.columns;
  thread_local Scratch<T> rows_memory, sum_memory;
  T* const sums = rows_memory(kChunk * columns);  // of the tokens of a chunk
  T* const sum = sum_memory(columns);
  std::fill_n(sum, columns, T(0));
  for (std::int64_t first = 0; first < length; first += kChunk) {
    const std::int64_t count = std::min(kChunk, length - first);
    kernels::table<T>().running_sums({.input = b.at(first),
                                      .input_row = b.row,
                                      .output = sums,
                                      .output_row = columns,
                                      .rows = count,
                                      .columns = columns,
                                      .sum = sum});
    T products[kChunk];
    kernels::attention_kernels<T, T>().row_products(a.at(first), a.row, sums, columns, count,
                                                    columns, products);
    for (std::int64_t i = 0; i < count; ++i) *output.at(first + i) = products[i];
  }
}

// to_a_i = gradient_i * sum over j <= i of b_j; to_b_j = sum over i >= j of gradient_i a_i.
template <typename T>
void running_gradients(const TextHead<T>& a, const TextHead<T>& b, const TextHead<T>& gradient,
                       const TextHead<T>& to_a, const TextHead<T>& to_b, std::int64_t length) {
  thread_local Scratch<T> memory;
  T* const sum = memory(a.columns);
  std::fill_n(sum, a.columns, T(0));
  kernels::table<T>().running_sums({.input = b.at(0),
                                    .input_row = b.row,
                                    .output = to_a.at(0),
                                    .output_row = to_a.row,
                                    .factors = gradient.at(0),
                                    .factor_row = gradient.row,
                                    .rows = length,
                                    .columns = a.columns,
                                    .sum = sum});
  std::fill_n(sum, a.columns, T(0));
  kernels::table<T>().running_sums({.input = a.at(length - 1),
                                    .input_row = -a.row,
                                    .gains = gradient.at(length - 1),
                                    .gain_row = -gradient.row,
                                    .output = to_b.at(length - 1),
                                    .output_row = -to_b.row,
                                    .rows = length,
                                    .columns = a.columns,
                                    .sum = sum});
}

Gradients denominator_gradients(const at::Tensor& query, const at::Tensor& key,
                                const at::Tensor& gradient) {
  const at::Tensor to_query = at::empty_like(query), to_key = at::empty_like(key);
  with_features(query, [&](auto tag) {
    using T = decltype(tag);
    for_heads(query, [&](std::int64_t batch, std::int64_t head) {
      const auto rows = [&](const at::Tensor& x) { return TextHead<T>(x, batch, head); };
      running_gradients<T>(rows(query), rows(key), rows(gradient), rows(to_query), rows(to_key),
                           query.size(2));
    });
  });
  return {to_query, to_key};
}

bool runs_chunks(const at::Tensor& x) {
  return runs_loops(x) && has_block_products();
}

void check(const at::Tensor& query, const at::Tensor& key) {
  ROFORMER_ASSERT(query.dim() == 4 && key.sizes() == query.sizes() &&
                  query.scalar_type() == accumulate_type(query.scalar_type()));
}

}  // namespace

at::Tensor causal_products(const at::Tensor& query, const at::Tensor& key,
                           const at::Tensor& value) {
  check(query, key);
  if (!runs_chunks(query)) return composed_products(query, key, value);
  GradientRecorder recorder("attention/causal_products", {query, key, value});
  const at::Tensor q = with_dense_rows(query.detach()), k = with_dense_rows(key.detach()),
                   v = with_dense_rows(value.detach());
  at::Tensor output = at::empty_like(v);
  with_features(q, [&](auto tag) {
    using T = decltype(tag);
    for_heads(q, [&](std::int64_t batch, std::int64_t head) {
      const auto rows = [&](const at::Tensor& x) { return TextHead<T>(x, batch, head); };
      causal_sums<T>(rows(q), rows(k), rows(v), rows(output), q.size(2));
    });
  });
  return recorder.finish(output, [=](const Gradients& gradients) -> Gradients {
    return product_gradients(q, k, v, with_dense_rows(gradients[0]));
  });
}

at::Tensor causal_denominators(const at::Tensor& query, const at::Tensor& key) {
  check(query, key);
  if (!runs_chunks(query)) return (query * key.cumsum(-2)).sum(-1, true);
  GradientRecorder recorder("attention/causal_denominators", {query, key});
  const at::Tensor q = with_dense_rows(query.detach()), k = with_dense_rows(key.detach());
  at::Tensor output = at::empty({q.size(0), q.size(1), q.size(2), 1}, q.options());
  with_features(q, [&](auto tag) {
    using T = decltype(tag);
    for_heads(q, [&](std::int64_t batch, std::int64_t head) {
      const auto rows = [&](const at::Tensor& x) { return TextHead<T>(x, batch, head); };
      running_products<T>(rows(q), rows(k), rows(output), q.size(2));
    });
  });
  return recorder.finish(output, [=](const Gradients& gradients) -> Gradients {
    return denominator_gradients(q, k, with_dense_rows(gradients[0]));
  });
}

namespace {

// y = x times this.
double input_scale(const at::Tensor& x) {
  return std::pow(static_cast<double>(x.size(-1)), -0.25);
}

// Of M y, by the kind of stabiliser; undefined for none.
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

FavorFeatures composed_features(const FavorInputs& in) {
  const at::Tensor y = in.x * input_scale(in.x);
  const at::Tensor projected = at::matmul(y, in.matrix.t().to(in.x.options()));
  const at::Tensor stabilizer = stabilizer_of(in, projected);
  at::Tensor exponent = projected - (y * y).sum(-1, true) / 2;
  if (stabilizer.defined()) exponent = exponent - stabilizer;
  FavorFeatures result{.features = (exponent.exp() + in.epsilon) * favor_share(in.matrix.size(0))};
  if (in.stabilizer == FavorStabilizer::of_head) result.stabilizer = stabilizer;
  return result;
}

// Calls function(T{}, head) for every head of every text in [B, H, L, ..], in parallel.
template <typename Function>
void for_each_head(const at::Tensor& x, const Function& function) {
  with_type(x.scalar_type(), [&](auto tag) {
    using T = kernels::Accumulate<decltype(tag)>;
    for_each_in_turn(
        x.size(0) * x.size(1), [&](std::int64_t head) { function(T{}, head); }, [] {});
  });
}

// The numbers of a head in a contiguous tensor.
template <typename T>
T* of_head(const at::Tensor& x, std::int64_t head) {
  return x.data_ptr<T>() + head * x.size(-2) * x.size(-1);
}

// M y becomes its features.
void exponentiate(const FavorInputs& in, const at::Tensor& x, const at::Tensor& stabilizer,
                  const at::Tensor& numbers) {
  const double scale = input_scale(x);
  for_each_head(x, [&](auto tag, std::int64_t head) {
    using T = decltype(tag);
    const T nothing = 0;
    kernels::ExponentialFeatures<T> work{.numbers = of_head<T>(numbers, head),
                                         .columns = numbers.size(-1),
                                         .input = of_head<T>(x, head),
                                         .width = x.size(-1),
                                         .half = static_cast<T>(scale * scale / 2),
                                         .epsilon = static_cast<T>(in.epsilon),
                                         .share = static_cast<T>(favor_share(numbers.size(-1)))};
    if (in.stabilizer == FavorStabilizer::none) work.stabilizer = &nothing;
    if (stabilizer.defined()) work.stabilizer = stabilizer.const_data_ptr<T>() + head;
    kernels::table<T>().exponential_features(work, x.size(-2));
  });
}

// The gradient of x. `scaled` is the matrix that x itself is multiplied with.
at::Tensor input_gradient(const at::Tensor& x, const at::Tensor& scaled, const at::Tensor& features,
                          double epsilon, const at::Tensor& gradient) {
  const double scale = input_scale(x);
  const at::Tensor to_exponents = at::empty_like(features);
  at::Tensor to_x = at::empty_like(x);
  for_each_head(x, [&](auto tag, std::int64_t head) {
    using T = decltype(tag);
    kernels::table<T>().exponential_features_backward(
        {.features = of_head<T>(features, head),
         .gradient = of_head<T>(gradient, head),
         .floor = static_cast<T>(epsilon * favor_share(features.size(-1))),
         .to_exponents = of_head<T>(to_exponents, head),
         .columns = features.size(-1),
         .input = of_head<T>(x, head),
         .to_input = of_head<T>(to_x, head),
         .width = x.size(-1),
         .factor = static_cast<T>(scale * scale)},
        x.size(-2));
  });
  to_x.view({-1, x.size(-1)}).addmm_(to_exponents.view({-1, features.size(-1)}), scaled);
  return to_x;
}

}  // namespace

FavorFeatures favor_features(const FavorInputs& in) {
  if (!runs_loops(in.x)) return composed_features(in);
  GradientRecorder recorder("attention/favor_features", {in.x});
  const at::Tensor x = in.x.detach().contiguous();
  const at::Tensor scaled = (in.matrix * input_scale(x)).to(x.options());
  const at::Tensor features = at::matmul(x, scaled.t());
  FavorFeatures result;
  if (in.stabilizer == FavorStabilizer::of_head) result.stabilizer = stabilizer_of(in, features);
  exponentiate(in, x, result.stabilizer.defined() ? result.stabilizer.contiguous() : at::Tensor(),
               features);
  result.features = recorder.finish(features, [x, scaled, held = features.detach(),
                                               epsilon = in.epsilon](const Gradients& gradients) {
    return Gradients{input_gradient(x, scaled, held, epsilon, gradients[0].contiguous())};
  });
  return result;
}

double favor_share(std::int64_t features) {
  return 1 / std::sqrt(static_cast<double>(features));
}

}  // namespace roformer
