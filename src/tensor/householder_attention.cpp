#include "tensor/householder_attention.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/head_memory.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {
namespace householder {
namespace {

constexpr std::int64_t kChunk = 32;  // tokens whose matrices are combined; a multiple of 16

// A row-major matrix in a thread's memory.
template <typename A>
struct Matrix {
  A* data = nullptr;
  std::int64_t row = 0;

  A* at(std::int64_t i) const { return data + i * row; }
  Matrix from(std::int64_t i) const { return {at(i), row}; }
  Matrix columns(std::int64_t j) const { return {data + j, row}; }
  Operand<A> plain() const { return {.data = data, .row = row}; }
  Operand<A> transposed() const { return {.data = data, .row = row, .transposed = true}; }
};

// to [m, n] = a b, or added to it.
template <typename A>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Operand<A>& a,
             const Operand<A>& b, const Matrix<A>& to, bool add = false) {
  if (m == 0 || n == 0 || k == 0) return;
  multiply<A>({.m = m,
               .n = n,
               .k = k,
               .a = a,
               .b = b,
               .product = to.data,
               .product_row = to.row,
               .add = add});
}

// Zeros above the diagonal number `last` (0: the main one, -1: the one below), the rest times sign.
template <typename A>
void keep_lower(const Matrix<A>& x, std::int64_t size, std::int64_t last, A sign = 1) {
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t kept = std::max<std::int64_t>(i + 1 + last, 0);
    A* const row = x.at(i);
    if (sign != 1) {
      for (std::int64_t j = 0; j < kept; ++j) row[j] *= sign;
    }
    std::fill(row + kept, row + size, A(0));
  }
}

template <typename A>
void negate(const Matrix<A>& x, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    A* const row = x.at(i);
    for (std::int64_t j = 0; j < columns; ++j) row[j] = -row[j];
  }
}

// inverse = (I + lower)^-1 for a strictly lower triangle, of which the part above the diagonal is
// overwritten. By halves: below its diagonal blocks, the inverse of [a 0; b c] is -c^-1 b a^-1.
template <typename A>
void invert_unit_lower(const Matrix<A>& lower, std::int64_t size, const Matrix<A>& inverse) {
  constexpr std::int64_t kSmall = 16;
  if (size > kSmall) {
    const std::int64_t half = (size / 2 + kSmall - 1) / kSmall * kSmall, rest = size - half;
    const Matrix<A> last = inverse.from(half).columns(half), free = lower.columns(half);
    invert_unit_lower(lower, half, inverse);
    invert_unit_lower(lower.from(half).columns(half), rest, last);
    for (std::int64_t i = 0; i < half; ++i) std::fill_n(inverse.at(i) + half, rest, A(0));
    product<A>(rest, half, half, lower.from(half).plain(), inverse.plain(), free);
    negate(free, rest, half);
    product<A>(rest, half, rest, last.plain(), free.plain(), inverse.from(half));
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    A* __restrict const row = inverse.at(i);
    std::fill(row, row + size, A(0));
    row[i] = 1;
    for (std::int64_t j = 0; j < i; ++j) {
      const A factor = lower.at(i)[j];
      const A* __restrict const other = inverse.at(j);
      for (std::int64_t c = 0; c <= j; ++c) row[c] -= factor * other[c];
    }
  }
}

// The tensors of one call. Gradients only in the backward pass.
struct Call {
  at::Tensor query, key, value, w, beta;
  at::Tensor output;     // [B, H, L, D]
  at::Tensor logarithm;  // [B, H, L] of the softmax's denominator
  at::Tensor output_gradient, to_query, to_key, to_value, to_w, to_beta;
  double scale = 1;
};

// One head of one text. M is the type in memory, A that of the arithmetic.
template <typename M>
class HouseholderHead {
 public:
  using A = kernels::Accumulate<M>;

  HouseholderHead(const Call& call, std::int64_t text, std::int64_t head)
      : call_(call),
        text_(text),
        head_(head),
        length_(call.query.size(2)),
        width_(call.query.size(3)) {
    for (const at::Tensor* x : {&call.query, &call.key, &call.value}) {
      inputs_.push_back(gathered<M>(*x));
    }
    w_ = gathered<A>(call.w);
    scaled_ = matrix(length_, width_);
    beta_ = of_head<A>(call.beta);
    for (std::int64_t i = 0; i < length_; ++i) {
      for (std::int64_t c = 0; c < width_; ++c) scaled_.at(i)[c] = w_.at(i)[c] * beta_[i];
    }
    lower_ = matrix(kChunk, kChunk);
    inverse_ = matrix(kChunk, kChunk);
    through_ = matrix(kChunk, kChunk);
    seen_ = matrix(kChunk, kChunk);
    inner_ = matrix(kChunk, kChunk);
    carrier_ = matrix(kChunk, width_);
    carried_query_ = matrix(kChunk, width_);
    scores_ = matrix(kChunk, length_);
    along_ = matrix(length_, kChunk);
  }

  void forward() {
    const Matrix<A> keys = copied(key(), length_);
    const Matrix<A> sums = matrix(kChunk, width_);
    A* const inverse = memory_(kChunk);
    for (begin_ = 0; begin_ < length_; begin_ = end_) {
      begin_chunk(keys);
      loops_.softmax({.rows = rows(),
                      .powers = scores_.data,
                      .inverse = inverse,
                      .logarithm = of_head<A>(call_.logarithm) + begin_});
      product<A>(count_, width_, end_, scores_.plain(), value().plain(), sums);
      scatter(sums, call_.output, inverse);
      if (end_ < length_) carry(keys);
    }
  }

  void backward() {
    // The keys before each chunk, as its first token sees them, and each chunk's inverse.
    std::vector<Matrix<A>> states, inverses;
    const Matrix<A> keys = copied(key(), length_);
    for (begin_ = 0; begin_ < length_; begin_ = end_) {
      states.push_back(copied(keys, begin_));
      combine();
      inverses.push_back(copied(inverse_, count_));
      if (end_ == length_) break;
      find_inner();
      carry(keys);
    }
    const Matrix<A> to_keys = zeros(length_, width_), to_values = zeros(length_, width_);
    const Matrix<A> slopes = matrix(kChunk, length_), gradient = matrix(kChunk, width_);
    to_scaled_ = matrix(kChunk, width_);
    to_w_ = matrix(kChunk, width_);
    to_query_ = matrix(kChunk, width_);
    to_carried_query_ = matrix(kChunk, width_);
    to_carrier_ = matrix(kChunk, width_);
    to_through_ = matrix(kChunk, kChunk);
    to_seen_ = matrix(kChunk, kChunk);
    to_inner_ = matrix(kChunk, kChunk);
    to_inverse_ = matrix(kChunk, kChunk);
    to_along_ = matrix(length_, kChunk);
    for (std::size_t n = states.size(); n-- > 0;) {
      begin_ = static_cast<std::int64_t>(n) * kChunk;
      end_ = std::min(begin_ + kChunk, length_);
      count_ = end_ - begin_;
      for (std::int64_t i = 0; i < count_; ++i) {
        std::copy_n(inverses[n].at(i), count_, inverse_.at(i));
      }
      find_scores(states[n]);
      gather(call_.output_gradient, begin_, count_, gradient);
      product<A>(count_, end_, width_, gradient.plain(), value().transposed(), slopes);
      loops_.slope({.rows = rows(),
                    .gradients = slopes.data,
                    .logarithm = of_head<A>(call_.logarithm) + begin_,
                    .probabilities = scores_.data,
                    .slopes = slopes.data});
      product<A>(end_, width_, count_, scores_.transposed(), gradient.plain(), to_values, true);
      clear(to_scaled_, width_);
      clear(to_w_, width_);
      clear(to_inner_, count_);
      clear(to_inverse_, count_);
      if (end_ < length_) uncarry(states[n], to_keys);
      unscore(states[n], slopes, to_keys);
      store_chunk(to_keys);
    }
    scatter_all(to_values, call_.to_value);
  }

 private:
  const Call& call_;
  std::int64_t text_, head_, length_, width_;
  std::int64_t begin_ = 0, end_ = 0, count_ = 0;  // of the chunk
  const A* beta_ = nullptr;
  const kernels::AttentionKernels<M, A>& loops_ = kernels::attention_kernels<M, A>();
  std::vector<Matrix<A>> inputs_;
  Matrix<A> w_, scaled_;  // [L, D]: w and beta w
  // For one chunk: I + lower is inverted; through = -tril(q w^T) inverse; seen = tril(q w^T); inner
  // holds beta w . k for earlier keys of the chunk. along [keys, chunk] holds the same for all
  // keys.
  Matrix<A> lower_, inverse_, through_, seen_, inner_, carrier_, carried_query_, scores_, along_;
  Matrix<A> to_scaled_, to_w_, to_query_, to_carried_query_, to_carrier_;
  Matrix<A> to_through_, to_seen_, to_inner_, to_inverse_, to_along_;

  HeadMemory<A> memory_;

  Matrix<A> matrix(std::int64_t rows, std::int64_t columns) {
    return {memory_(rows * columns), columns};
  }
  Matrix<A> zeros(std::int64_t rows, std::int64_t columns) {
    const Matrix<A> x = matrix(rows, columns);
    std::fill_n(x.data, rows * columns, A(0));
    return x;
  }
  Matrix<A> copied(const Matrix<A>& x, std::int64_t rows) {
    const Matrix<A> copy = matrix(std::max<std::int64_t>(rows, 1), x.row);
    std::copy_n(x.data, rows * x.row, copy.data);
    return copy;
  }
  void clear(const Matrix<A>& x, std::int64_t columns) const {
    for (std::int64_t i = 0; i < count_; ++i) std::fill_n(x.at(i), columns, A(0));
  }

  const Matrix<A>& query() const { return inputs_[0]; }
  const Matrix<A>& key() const { return inputs_[1]; }
  const Matrix<A>& value() const { return inputs_[2]; }
  Matrix<A> own(const Matrix<A>& x) const { return x.from(begin_); }

  template <typename T>
  T* of_head(const at::Tensor& x) const {
    return x.data_ptr<T>() + text_ * x.stride(0) + head_ * x.stride(1);
  }
  template <typename T>
  Matrix<A> gathered(const at::Tensor& x) {
    const Matrix<A> rows = matrix(length_, width_);
    kernels::attention_kernels<T, A>().gather({.from = of_head<T>(x),
                                               .from_row = x.stride(2),
                                               .to = rows.data,
                                               .to_row = width_,
                                               .rows = length_,
                                               .width = width_});
    return rows;
  }
  void gather(const at::Tensor& x, std::int64_t begin, std::int64_t count,
              const Matrix<A>& to) const {
    loops_.gather({.from = of_head<M>(x) + begin * x.stride(2),
                   .from_row = x.stride(2),
                   .to = to.data,
                   .to_row = to.row,
                   .rows = count,
                   .width = width_});
  }
  // The chunk's rows to their place, each times its factor.
  void scatter(const Matrix<A>& from, const at::Tensor& to, const A* factors = nullptr) const {
    loops_.scatter({.from = from.data,
                    .from_row = from.row,
                    .to = of_head<M>(to) + begin_ * to.stride(2),
                    .to_row = to.stride(2),
                    .rows = count_,
                    .width = width_,
                    .factors = factors});
  }
  void scatter_all(const Matrix<A>& from, const at::Tensor& to) {
    begin_ = 0;
    count_ = length_;
    scatter(from, to);
  }

  kernels::ScoreRows<A> rows() const {
    return {.scores = scores_.data,
            .row = scores_.row,
            .scale = static_cast<A>(call_.scale),
            .rows = count_,
            .columns = end_,
            .padded = end_,
            .first_row = begin_,
            .causal = true};
  }

  void begin_chunk(const Matrix<A>& keys) {
    combine();
    find_scores(keys);
  }

  // The chunk's inverse.
  void combine() {
    end_ = std::min(begin_ + kChunk, length_);
    count_ = end_ - begin_;
    product<A>(count_, count_, width_, own(scaled_).plain(), own(w_).transposed(), lower_);
    invert_unit_lower(lower_, count_, inverse_);
  }

  void find_inner() {
    product<A>(count_, count_, width_, own(scaled_).plain(), own(key()).transposed(), inner_);
    keep_lower<A>(inner_, count_, -1);
  }

  // The scores of the chunk's queries with the keys before it, as its first token sees them, and
  // with its own.
  void find_scores(const Matrix<A>& before) {
    find_inner();
    product<A>(count_, count_, width_, own(query()).plain(), own(w_).transposed(), seen_);
    keep_lower<A>(seen_, count_, 0);
    product<A>(count_, count_, count_, seen_.plain(), inverse_.plain(), through_);
    negate(through_, count_, count_);
    for (std::int64_t i = 0; i < count_; ++i) {
      std::copy_n(own(query()).at(i), width_, carried_query_.at(i));
    }
    product<A>(count_, width_, count_, through_.plain(), own(scaled_).plain(), carried_query_,
               true);
    product<A>(count_, begin_, width_, carried_query_.plain(), before.transposed(), scores_);
    const Matrix<A> mine = scores_.columns(begin_);
    product<A>(count_, count_, width_, own(query()).plain(), own(key()).transposed(), mine);
    product<A>(count_, count_, count_, through_.plain(), inner_.plain(), mine, true);
  }

  // along [keys, chunk]: beta w . k for the keys before the chunk and in it.
  void find_along(const Matrix<A>& before) {
    product<A>(begin_, count_, width_, before.plain(), own(scaled_).transposed(), along_);
    for (std::int64_t j = 0; j < count_; ++j) {
      for (std::int64_t i = 0; i < count_; ++i) along_.at(begin_ + j)[i] = inner_.at(i)[j];
    }
    product<A>(count_, width_, count_, inverse_.transposed(), own(w_).plain(), carrier_);
    negate(carrier_, count_, width_);
  }

  // Moves the keys past the chunk.
  void carry(const Matrix<A>& keys) {
    find_along(keys);
    product<A>(end_, width_, count_, along_.plain(), carrier_.plain(), keys, true);
  }

  // From the gradients of the keys after the chunk to those of the keys before it.
  void uncarry(const Matrix<A>& before, const Matrix<A>& to_keys) {
    find_along(before);
    product<A>(end_, count_, width_, to_keys.plain(), carrier_.transposed(), to_along_);
    product<A>(count_, width_, end_, along_.transposed(), to_keys.plain(), to_carrier_);
    negate(to_carrier_, count_, width_);
    product<A>(begin_, width_, count_, to_along_.plain(), own(scaled_).plain(), to_keys, true);
    product<A>(count_, width_, begin_, to_along_.transposed(), before.plain(), to_scaled_, true);
    for (std::int64_t i = 0; i < count_; ++i) {
      for (std::int64_t j = 0; j < count_; ++j) to_inner_.at(i)[j] = to_along_.at(begin_ + j)[i];
    }
    product<A>(count_, count_, width_, own(w_).plain(), to_carrier_.transposed(), to_inverse_);
    product<A>(count_, width_, count_, inverse_.plain(), to_carrier_.plain(), to_w_);
  }

  // From the slopes of the chunk's scores to the gradients of all that find_scores() reads.
  void unscore(const Matrix<A>& before, const Matrix<A>& slopes, const Matrix<A>& to_keys) {
    const Matrix<A> mine = slopes.columns(begin_), q = own(query()), k = own(key()), w = own(w_),
                    scaled = own(scaled_), to_key = own(to_keys);
    clear(to_carried_query_, width_);
    product<A>(count_, width_, begin_, slopes.plain(), before.plain(), to_carried_query_);
    product<A>(begin_, width_, count_, slopes.transposed(), carried_query_.plain(), to_keys, true);
    for (std::int64_t i = 0; i < count_; ++i) {
      std::copy_n(to_carried_query_.at(i), width_, to_query_.at(i));
    }
    product<A>(count_, width_, count_, mine.plain(), k.plain(), to_query_, true);
    product<A>(count_, width_, count_, mine.transposed(), q.plain(), to_key, true);
    product<A>(count_, count_, width_, to_carried_query_.plain(), scaled.transposed(), to_through_);
    product<A>(count_, count_, count_, mine.plain(), inner_.transposed(), to_through_, true);
    negate(to_through_, count_, count_);
    product<A>(count_, width_, count_, through_.transposed(), to_carried_query_.plain(), to_scaled_,
               true);
    product<A>(count_, count_, count_, through_.transposed(), mine.plain(), to_inner_, true);
    product<A>(count_, count_, count_, to_through_.plain(), inverse_.transposed(), to_seen_);
    keep_lower<A>(to_seen_, count_, 0);
    product<A>(count_, count_, count_, seen_.transposed(), to_through_.plain(), to_inverse_, true);
    product<A>(count_, width_, count_, to_seen_.plain(), w.plain(), to_query_, true);
    product<A>(count_, width_, count_, to_seen_.transposed(), q.plain(), to_w_, true);
    keep_lower<A>(to_inner_, count_, -1);
    product<A>(count_, width_, count_, to_inner_.plain(), k.plain(), to_scaled_, true);
    product<A>(count_, width_, count_, to_inner_.transposed(), scaled.plain(), to_key, true);
    // The gradient of I + lower is -inverse^T to_inverse inverse^T.
    product<A>(count_, count_, count_, inverse_.transposed(), to_inverse_.plain(), to_seen_);
    product<A>(count_, count_, count_, to_seen_.plain(), inverse_.transposed(), lower_);
    keep_lower<A>(lower_, count_, -1, A(-1));
    product<A>(count_, width_, count_, lower_.plain(), w.plain(), to_scaled_, true);
    product<A>(count_, width_, count_, lower_.transposed(), scaled.plain(), to_w_, true);
  }

  void store_chunk(const Matrix<A>& to_keys) {
    A* const to_beta = of_head<A>(call_.to_beta) + begin_;
    const Matrix<A> w = own(w_);
    for (std::int64_t i = 0; i < count_; ++i) {
      A* const to_w = to_w_.at(i);
      const A* const to_scaled = to_scaled_.at(i);
      A sum = 0;
      for (std::int64_t c = 0; c < width_; ++c) {
        sum += to_scaled[c] * w.at(i)[c];
        to_w[c] += to_scaled[c] * beta_[begin_ + i];
      }
      to_beta[i] = sum;
      std::copy_n(to_w, width_, of_head<A>(call_.to_w) + (begin_ + i) * call_.to_w.stride(2));
    }
    scatter(to_query_, call_.to_query);
    scatter(own(to_keys), call_.to_key);
  }
};

template <typename Function>
void for_heads(const Call& call, const Function& function) {
  const std::int64_t heads = call.query.size(1);
  with_type(call.query.scalar_type(), [&](auto type) {
    using M = decltype(type);
    for_each_in_turn(
        call.query.size(0) * heads,
        [&](std::int64_t i) {
          HouseholderHead<M> head(call, i / heads, i % heads);
          function(head);
        },
        [] {});
  });
}

}  // namespace
}  // namespace householder

at::Tensor householder_attention(const HouseholderAttention& in) {
  using householder::Call, householder::for_heads;
  const at::ScalarType type = in.query.scalar_type(), wide = accumulate_type(type);
  ROFORMER_ASSERT(has_block_products() && in.w.scalar_type() == wide &&
                  in.beta.scalar_type() == wide);
  GradientRecorder recorder("attention/householder", {in.query, in.key, in.value, in.w, in.beta});
  const auto rows = [](const at::Tensor& x) {
    return x.stride(3) == 1 ? x.detach() : x.detach().contiguous();
  };
  auto call = std::make_shared<Call>(Call{.query = rows(in.query),
                                          .key = rows(in.key),
                                          .value = rows(in.value),
                                          .w = rows(in.w),
                                          .beta = in.beta.detach().contiguous(),
                                          .output = like_tokens(in.query, type),
                                          .scale = in.scale});
  call->logarithm = at::empty_like(call->beta);
  for_heads(*call, [](auto& head) { head.forward(); });
  const at::Tensor output = std::exchange(call->output, at::Tensor());
  return recorder.finish(output, [call](const Gradients& gradients) -> Gradients {
    Call work = *call;
    const at::Tensor& outer = gradients[0];
    work.output_gradient = outer.stride(3) == 1 ? outer : outer.contiguous();
    const at::ScalarType type = work.query.scalar_type(), wide = work.w.scalar_type();
    work.to_query = like_tokens(work.query, type);
    work.to_key = like_tokens(work.query, type);
    work.to_value = like_tokens(work.query, type);
    work.to_w = like_tokens(work.w, wide);
    work.to_beta = at::empty_like(work.beta);
    for_heads(work, [](auto& head) { head.backward(); });
    return {work.to_query, work.to_key, work.to_value, work.to_w, work.to_beta};
  });
}

}  // namespace roformer
