#include "tensor/linear_heads.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/head_memory.h"
#include "tensor/kernels.h"
#include "tensor/linear_attention_operations.h"
#include "tensor/linear_sums.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {
namespace linear {
namespace {

// The tensors of one call. Gradients only in the backward pass.
struct Call {
  LinearHeads in;
  at::Tensor scaled;  // the matrix, times the factor of x
  at::Tensor output;
  // In the type of the arithmetic: the output, and [B, H, L] of the denominators and bounds.
  at::Tensor quotient, denominator, bound;
  at::Tensor output_gradient, to_query, to_key, to_value;
};

// One head of one text. M is the type in memory, A that of the arithmetic.
template <typename M>
class LinearHead {
 public:
  using A = kernels::Accumulate<M>;

  LinearHead(const Call& call, std::int64_t text, std::int64_t head)
      : call_(call),
        in_(call.in),
        text_(text),
        head_(head),
        length_(in_.query.size(2)),
        width_(in_.query.size(3)),
        joined_(!in_.rotation || !in_.rotates_features) {
    query_ = gathered(in_.query, width_);
    key_ = gathered(in_.key, width_);
    // A column of ones gives the denominator where it has the features of the numerator.
    value_ = gathered(in_.value, width_ + joined_);
    if (joined_) fill_last(value_, A(1));
    if (in_.rotation && !in_.rotates_features) {
      rotate(query_, query_, in_.rotation->query, false);
      rotate(key_, key_, in_.rotation->key, false);
    }
    query_features_ = features(query_, false);
    key_features_ = features(key_, true);
    turned_query_ = query_features_;
    turned_key_ = key_features_;
    if (joined_) return;
    turned_query_ = matrix(query_features_.columns);
    turned_key_ = matrix(key_features_.columns);
    rotate(query_features_, turned_query_, in_.rotation->query, false);
    rotate(key_features_, turned_key_, in_.rotation->key, false);
  }

  void forward() {
    const Rows<A> sums = matrix(value_.columns);
    (in_.causal ? causal_sums<A> : whole_sums<A>)(turned_query_, turned_key_, value_, sums,
                                                  length_);
    A* const denominators = of_head(call_.denominator);
    if (joined_) {
      for (std::int64_t i = 0; i < length_; ++i) denominators[i] = sums.at(i)[width_];
    } else if (in_.causal) {
      running_products(query_features_, key_features_, denominators, length_);
    } else {
      whole_sums<A>(query_features_, key_features_, ones(), {denominators, 1, 1}, length_);
    }
    A* const inverse = memory_(length_);
    const A least = static_cast<A>(in_.least_denominator);
    for (std::int64_t i = 0; i < length_; ++i) {
      denominators[i] = std::max(denominators[i], least);
      inverse[i] = 1 / denominators[i];
    }
    scatter(sums, call_.output, inverse);
    if (call_.quotient.defined()) {
      for (std::int64_t i = 0; i < length_; ++i) {
        A* const to = of_head(call_.quotient) + i * width_;
        for (std::int64_t c = 0; c < width_; ++c) to[c] = sums.at(i)[c] * inverse[i];
      }
    }
    if (call_.bound.defined()) find_bounds();
  }

  void backward() {
    const Rows<A> gradient = gathered(call_.output_gradient, width_ + joined_);
    A* const to_denominators = memory_(length_);
    divide(gradient, to_denominators);
    if (joined_) {
      for (std::int64_t i = 0; i < length_; ++i) gradient.at(i)[width_] = to_denominators[i];
    }
    const std::int64_t columns = query_features_.columns;
    const Rows<A> to_query = matrix(columns), to_key = matrix(columns),
                  to_value = matrix(value_.columns);
    (in_.causal ? causal_sums<A> : whole_sums<A>)(gradient, value_, turned_key_, to_query, length_);
    (in_.causal ? key_and_value_gradients<A>
                : whole_key_and_value_gradients<A>)(turned_query_, turned_key_, value_, gradient,
                                                    to_key, to_value, length_);
    if (!joined_) {
      rotate(to_query, to_query, in_.rotation->query, true);
      rotate(to_key, to_key, in_.rotation->key, true);
      add_denominator_gradients(to_denominators, to_query, to_key);
    }
    scatter(to_value, call_.to_value);
    store(query_, query_features_, to_query, in_.rotation ? &in_.rotation->query : nullptr,
          call_.to_query);
    store(key_, key_features_, to_key, in_.rotation ? &in_.rotation->key : nullptr, call_.to_key);
  }

 private:
  const Call& call_;
  const LinearHeads& in_;
  std::int64_t text_, head_, length_, width_;
  bool joined_;  // the numerator has the features of the denominator
  HeadMemory<A> memory_;
  Rows<A> query_, key_, value_;            // [L, D], rotated if that comes before the features
  Rows<A> query_features_, key_features_;  // [L, F]
  Rows<A> turned_query_, turned_key_;      // of the numerator

  Rows<A> matrix(std::int64_t columns) { return {memory_(length_ * columns), columns, columns}; }
  Rows<A> ones() {
    const Rows<A> result = matrix(1);
    fill_last(result, A(1));
    return result;
  }
  void fill_last(const Rows<A>& rows, A number) const {
    for (std::int64_t i = 0; i < length_; ++i) rows.at(i)[rows.columns - 1] = number;
  }

  // The head's part of a contiguous tensor [B, H, L, ..] of A.
  A* of_head(const at::Tensor& x) const {
    return x.data_ptr<A>() + text_ * x.stride(0) + head_ * x.stride(1);
  }
  M* in_memory(const at::Tensor& x) const {
    return x.data_ptr<M>() + text_ * x.stride(0) + head_ * x.stride(1);
  }
  // The head's rows of x in the first columns of `columns`.
  Rows<A> gathered(const at::Tensor& x, std::int64_t columns) {
    const Rows<A> rows = matrix(columns);
    kernels::attention_kernels<M, A>().gather({.from = in_memory(x),
                                               .from_row = x.stride(2),
                                               .to = rows.data,
                                               .to_row = rows.row,
                                               .rows = length_,
                                               .width = width_});
    return rows;
  }
  void scatter(const Rows<A>& from, const at::Tensor& to, const A* factors = nullptr) const {
    kernels::attention_kernels<M, A>().scatter({.from = from.data,
                                                .from_row = from.row,
                                                .to = in_memory(to),
                                                .to_row = to.stride(2),
                                                .rows = length_,
                                                .width = width_,
                                                .factors = factors});
  }

  void rotate(const Rows<A>& from, const Rows<A>& to, const Rotation& rotation,
              bool inverse) const {
    kernels::table<A>().rotate({.input = from.data,
                                .output = to.data,
                                .input_row = from.row,
                                .output_row = to.row,
                                .heads = 1,
                                .width = from.columns,
                                .rotary_width = rotation.width(),
                                .interleaved = rotation.layout == RotaryLayout::interleaved,
                                .inverse = inverse,
                                .cosine = rotation.cosine.const_data_ptr<A>(),
                                .sine = rotation.sine.const_data_ptr<A>(),
                                .positions = length_},
                               0, length_);
  }

  Operand<A> scaled_matrix() const {
    return {.data = call_.scaled.const_data_ptr<A>(), .row = width_};
  }
  A half() const { return static_cast<A>(std::pow(static_cast<double>(width_), -0.5) / 2); }
  // The part of a feature that is not its exponential.
  A floor(std::int64_t columns) const { return static_cast<A>(in_.epsilon * favor_share(columns)); }

  Rows<A> features(const Rows<A>& x, bool of_keys) {
    if (!in_.matrix.defined()) {
      const Rows<A> result = matrix(width_);
      kernels::table<A>().elu_features(x.data, result.data, length_ * width_);
      return result;
    }
    const Rows<A> result = matrix(in_.matrix.size(0));
    product<A>(length_, result.columns, width_, x.all(), transposed(scaled_matrix()), result.data,
               result.row);
    A stabilizer = 0;
    if (in_.stabilized && of_keys) stabilizer = largest(result);
    kernels::table<A>().exponential_features(
        {.numbers = result.data,
         .columns = result.columns,
         .input = x.data,
         .width = width_,
         .half = half(),
         .stabilizer = in_.stabilized && !of_keys ? nullptr : &stabilizer,
         .epsilon = static_cast<A>(in_.epsilon),
         .share = static_cast<A>(favor_share(result.columns))},
        length_);
    return result;
  }

  A largest(const Rows<A>& rows) {
    A* __restrict const of_columns = memory_(rows.columns);
    std::copy_n(rows.data, rows.columns, of_columns);
    for (std::int64_t i = 1; i < length_; ++i) {
      const A* __restrict const row = rows.at(i);
      for (std::int64_t c = 0; c < rows.columns; ++c) {
        of_columns[c] = row[c] > of_columns[c] ? row[c] : of_columns[c];
      }
    }
    return *std::max_element(of_columns, of_columns + rows.columns);
  }

  // From the gradient of features to that of the rows x they were made of, and to its place.
  void store(const Rows<A>& x, const Rows<A>& of_x, const Rows<A>& gradient,
             const Rotation* rotation, const at::Tensor& to) {
    const Rows<A> to_x = matrix(width_);
    if (!in_.matrix.defined()) {
      for (std::int64_t i = 0; i < length_ * width_; ++i) {
        to_x.data[i] = gradient.data[i] * std::min(of_x.data[i], A(1));
      }
    } else {
      const Rows<A> to_exponents = matrix(of_x.columns);
      kernels::table<A>().exponential_features_backward({.features = of_x.data,
                                                         .gradient = gradient.data,
                                                         .floor = floor(of_x.columns),
                                                         .to_exponents = to_exponents.data,
                                                         .columns = of_x.columns,
                                                         .input = x.data,
                                                         .to_input = to_x.data,
                                                         .width = width_,
                                                         .factor = 2 * half()},
                                                        length_);
      product<A>(length_, width_, of_x.columns, to_exponents.all(), scaled_matrix(), to_x.data,
                 to_x.row, true);
    }
    if (rotation != nullptr && joined_) rotate(to_x, to_x, *rotation, true);
    scatter(to_x, to);
  }

  // The gradients of numerators, in place of those of quotients, and those of denominators.
  void divide(const Rows<A>& gradient, A* to_denominators) const {
    const A* const denominators = of_head(call_.denominator);
    const bool own = !call_.quotient.defined();
    const A least = static_cast<A>(in_.least_denominator);
    for (std::int64_t i = 0; i < length_; ++i) {
      A* const row = gradient.at(i);
      const A inverse = 1 / denominators[i];
      A sum = 0;
      if (own) {
        const M* const output = in_memory(call_.output) + i * call_.output.stride(2);
        for (std::int64_t c = 0; c < width_; ++c) sum += row[c] * static_cast<A>(output[c]);
      } else {
        const A* const quotient = of_head(call_.quotient) + i * width_;
        for (std::int64_t c = 0; c < width_; ++c) sum += row[c] * quotient[c];
      }
      for (std::int64_t c = 0; c < width_; ++c) row[c] *= inverse;
      to_denominators[i] = denominators[i] > least ? -sum * inverse : A(0);
    }
  }

  void add_denominator_gradients(const A* gradient, const Rows<A>& to_query,
                                 const Rows<A>& to_key) {
    const std::int64_t columns = query_features_.columns;
    const Rows<A> more_query = matrix(columns), more_key = matrix(columns);
    if (in_.causal) {
      running_gradients(query_features_, key_features_, gradient, more_query, more_key, length_);
    } else {
      const Rows<A> slopes = matrix(1), values = ones(), unused = matrix(1);
      std::copy_n(gradient, length_, slopes.data);
      whole_sums<A>(slopes, values, key_features_, more_query, length_);
      whole_key_and_value_gradients<A>(query_features_, key_features_, values, slopes, more_key,
                                       unused, length_);
    }
    for (std::int64_t i = 0; i < length_ * columns; ++i) {
      to_query.data[i] += more_query.data[i];
      to_key.data[i] += more_key.data[i];
    }
  }

  void find_bounds() const {
    const auto norm = [](const Rows<A>& rows, std::int64_t i) {
      A sum = 0;
      for (std::int64_t c = 0; c < rows.columns; ++c) sum += rows.at(i)[c] * rows.at(i)[c];
      return std::sqrt(sum);
    };
    A* const bounds = of_head(call_.bound);
    A seen = 0;
    if (!in_.causal) {
      for (std::int64_t i = 0; i < length_; ++i) seen += norm(key_features_, i);
    }
    for (std::int64_t i = 0; i < length_; ++i) {
      if (in_.causal) seen += norm(key_features_, i);
      bounds[i] = norm(query_features_, i) * seen;
    }
  }
};

template <typename Function>
void for_heads(const Call& call, const Function& function) {
  const std::int64_t heads = call.in.query.size(1);
  with_type(call.in.query.scalar_type(), [&](auto type) {
    using M = decltype(type);
    for_each_in_turn(
        call.in.query.size(0) * heads,
        [&](std::int64_t i) {
          LinearHead<M> head(call, i / heads, i % heads);
          function(head);
        },
        [] {});
  });
}

}  // namespace
}  // namespace linear

bool can_attend_linear_heads(const at::Tensor& x) {
  return runs_loops(x) && has_block_products();
}

LinearHeadsResult linear_heads(const LinearHeads& in, bool with_bounds) {
  using linear::Call, linear::for_heads;
  const at::ScalarType type = in.query.scalar_type(), wide = accumulate_type(type);
  ROFORMER_ASSERT(in.key.sizes() == in.query.sizes() && in.value.sizes() == in.query.sizes());
  GradientRecorder recorder("attention/linear", {in.query, in.key, in.value});
  const auto rows = [](const at::Tensor& x) {
    return x.stride(3) == 1 ? x.detach() : x.detach().contiguous();
  };
  auto call = std::make_shared<Call>(Call{.in = in});
  call->in.query = rows(in.query);
  call->in.key = rows(in.key);
  call->in.value = rows(in.value);
  if (in.matrix.defined()) {
    const double scale = std::pow(static_cast<double>(in.query.size(3)), -0.25);
    call->scaled = (in.matrix * scale).to(wide).contiguous();
  }
  const at::Tensor output = like_tokens(in.query, type);
  call->output = output.detach();
  const auto wide_options = in.query.options().dtype(wide);
  // Products with the rounded output would lose what is left of a gradient after cancellation.
  if (type != wide && recorder.wanted()) call->quotient = at::empty(in.query.sizes(), wide_options);
  call->denominator = at::empty(in.query.sizes().slice(0, 3), wide_options);
  if (with_bounds) call->bound = at::empty_like(call->denominator);
  for_heads(*call, [](auto& head) { head.forward(); });
  LinearHeadsResult result{.denominator = call->denominator,
                           .bound = std::exchange(call->bound, at::Tensor())};
  result.output = recorder.finish(output, [call](const Gradients& gradients) -> Gradients {
    Call work = *call;
    work.output_gradient = gradients[0].stride(3) == 1 ? gradients[0] : gradients[0].contiguous();
    for (at::Tensor* to : {&work.to_query, &work.to_key, &work.to_value}) {
      *to = like_tokens(work.in.query, work.in.query.scalar_type());
    }
    for_heads(work, [](auto& head) { head.backward(); });
    return {work.to_query, work.to_key, work.to_value};
  });
  return result;
}

}  // namespace roformer
