// DAPE's network on the pairs of one query, some keys at a time: products of small matrices whose
// columns are keys. The layers' results stay in the core's cache.
#pragma once

#include "tensor/attention_kernels.h"
#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// y[o] += sum over i of weight[i * in_step + o * out_step] * x[i], rows of columns.
template <typename A>
struct ChannelProduct {
  const A* weight = nullptr;
  std::int64_t in = 0, in_step = 0;
  std::int64_t out = 0, out_step = 0;
  const A* x = nullptr;
  A* y = nullptr;
  std::int64_t row = 0;      // stride between the rows of x and of y
  std::int64_t columns = 0;  // a multiple of the step
};

// Columns computed at once, in groups of lanes: with four outputs their sums are eight registers of
// AVX2 or AVX-512.
inline constexpr std::int64_t kGroups = kRegisterBytes < 64 ? 1 : 2;
template <typename A>
inline constexpr std::int64_t kColumns = kGroups * kLanes<A>;
static_assert(ScoreNetworkRow<float>::kStep % kColumns<float> == 0 &&
              ScoreNetworkRow<double>::kStep % kColumns<double> == 0);

template <std::int64_t outputs, typename A>
ROFORMER_INLINE void add_outputs(const ChannelProduct<A>& o, std::int64_t first,
                                 std::int64_t column) {
  Lanes<A> sums[outputs][kGroups], x[kGroups];
  A* const y = o.y + first * o.row + column;
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < outputs; ++k) {
#pragma GCC unroll 2
    for (std::int64_t g = 0; g < kGroups; ++g) {
      load_lanes(y + k * o.row + g * kLanes<A>, sums[k][g]);
    }
  }
  const A* weight = o.weight + first * o.out_step;
  for (std::int64_t i = 0; i < o.in; ++i, weight += o.in_step) {
#pragma GCC unroll 2
    for (std::int64_t g = 0; g < kGroups; ++g) {
      load_lanes(o.x + i * o.row + column + g * kLanes<A>, x[g]);
    }
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < outputs; ++k) {
#pragma GCC unroll 2
      for (std::int64_t g = 0; g < kGroups; ++g) {
        sums[k][g].add_product(weight[k * o.out_step], x[g]);
      }
    }
  }
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < outputs; ++k) {
#pragma GCC unroll 2
    for (std::int64_t g = 0; g < kGroups; ++g) {
      store_lanes(sums[k][g], y + k * o.row + g * kLanes<A>);
    }
  }
}

template <typename A>
ROFORMER_INLINE void add_product(const ChannelProduct<A>& o) {
  for (std::int64_t column = 0; column < o.columns; column += kColumns<A>) {
    std::int64_t out = 0;
    for (; out + 4 <= o.out; out += 4) add_outputs<4>(o, out, column);
    for (; out < o.out; ++out) add_outputs<1>(o, out, column);
  }
}

// sums[i, o] += the lanes of x[i] * y[o] over some columns.
template <std::int64_t outputs, typename A>
ROFORMER_INLINE void add_lanes(const A* x, const A* y, std::int64_t row, std::int64_t columns,
                               A* sums) {
  Lanes<A> sum[outputs], left, right;
  for (std::int64_t k = 0; k < outputs; ++k) load_lanes(sums + k * kLanes<A>, sum[k]);
  for (std::int64_t c = 0; c < columns; c += kLanes<A>) {
    load_lanes(x + c, left);
    for (std::int64_t k = 0; k < outputs; ++k) {
      load_lanes(y + k * row + c, right);
      sum[k].add_product(left, right);
    }
  }
  for (std::int64_t k = 0; k < outputs; ++k) store_lanes(sum[k], sums + k * kLanes<A>);
}
template <typename A>
ROFORMER_INLINE void add_outer(const A* x, std::int64_t in, const A* y, std::int64_t out,
                               std::int64_t row, std::int64_t columns, A* sums) {
  for (std::int64_t i = 0; i < in; ++i) {
    std::int64_t o = 0;
    for (; o + 4 <= out; o += 4, sums += 4 * kLanes<A>) {
      add_lanes<4>(x + i * row, y + o * row, row, columns, sums);
    }
    for (; o < out; ++o, sums += kLanes<A>) {
      add_lanes<1>(x + i * row, y + o * row, row, columns, sums);
    }
  }
}
template <typename A>
ROFORMER_INLINE void add_rows(const A* y, std::int64_t out, std::int64_t row, std::int64_t columns,
                              A* sums) {
  for (std::int64_t o = 0; o < out; ++o, sums += kLanes<A>) {
    Lanes<A> sum, part;
    load_lanes(sums, sum);
    for (std::int64_t c = 0; c < columns; c += kLanes<A>) {
      load_lanes(y + o * row + c, part);
      sum += part;
    }
    store_lanes(sum, sums);
  }
}

// One part of the keys of a row. A layer reads `half` keys on either side of a key. The buffers
// begin before the part: input and output gradient by 2 * half keys, hidden and its gradient by
// half.
template <typename A>
class NetworkPart {
 public:
  ROFORMER_INLINE NetworkPart(const ScoreNetworkRow<A>& row, std::int64_t begin)
      : o_(row),
        begin_(begin),
        count_(std::min(ScoreNetworkRow<A>::kKeysOfPart, row.keys - begin)),
        half_(row.taps / 2),
        row_(row.columns()),
        channels_(row.channels()) {
    input_ = o_.memory;
    hidden_ = input_ + channels_ * row_;
    to_hidden_ = hidden_ + o_.hidden * row_;
    gradient_ = to_hidden_ + o_.hidden * row_;
    result_ = gradient_ + o_.heads * row_;
  }

  void forward() const {
    read_input();
    make_hidden();
    fill_rows(result_, o_.heads, o_.second_bias);
    add_layer(second(), hidden_, result_);
    for (std::int64_t h = 0; h < o_.heads; ++h) {
      const std::int64_t start = h * o_.head_step + begin_;
      A* __restrict output = o_.output + start;
      const A* __restrict scores = o_.scores + start;
      const A* __restrict result = result_ + h * row_;
      for (std::int64_t c = 0; c < count_; ++c) output[c] = scores[c] + result[c];
      if (o_.bias == nullptr) continue;
      const A* __restrict bias = o_.bias + start;
      for (std::int64_t c = 0; c < count_; ++c) output[c] += bias[c];
    }
  }

  void backward() const {
    read_input();
    make_hidden();
    for (std::int64_t h = 0; h < o_.heads; ++h) {
      read(o_.output_gradient + h * o_.head_step, nullptr, gradient_ + h * row_);
    }
    make_hidden_gradient();
    add_weight_gradients();
    fill_rows(result_, channels_, static_cast<const A*>(nullptr));
    add_layer_back(first(), to_hidden_, result_);
    const bool* const past = o_.past == nullptr ? nullptr : o_.past + begin_;
    for (std::int64_t h = 0; h < o_.heads; ++h) {
      const std::int64_t start = h * o_.head_step + begin_;
      const A* __restrict own = o_.output_gradient + start;
      A* __restrict to_scores = o_.to_scores + start;
      write_gradient(own, result_ + h * row_, past, to_scores);
      if (o_.to_bias == nullptr) continue;
      A* __restrict to_bias = o_.to_bias + start;
      for (std::int64_t c = 0; c < count_; ++c) to_bias[c] += own[c];
      const A* __restrict through = result_ + (o_.heads + h) * row_;
      for (std::int64_t c = 0; c < count_; ++c) {
        to_bias[c] += past == nullptr || past[c] ? through[c] : A(0);
      }
    }
  }

 private:
  const ScoreNetworkRow<A>& o_;
  std::int64_t begin_, count_, half_, row_, channels_;
  A *input_, *hidden_, *to_hidden_, *gradient_, *result_;

  // The keys of the part and 2 * half_ on either side; 0 beyond the row's ends and for hidden keys.
  ROFORMER_INLINE void read(const A* __restrict from, const bool* past, A* __restrict to) const {
    const std::int64_t first = begin_ - 2 * half_;
    const std::int64_t low = std::max<std::int64_t>(0, -first);
    const std::int64_t high = std::min(count_ + 4 * half_, o_.keys - first);
    for (std::int64_t c = 0; c < low; ++c) to[c] = 0;
    for (std::int64_t c = low; c < high; ++c) to[c] = from[first + c];
    for (std::int64_t c = high; c < row_; ++c) to[c] = 0;
    if (past == nullptr) return;
    // The vectoriser has no vectors of bool.
    const auto* __restrict seen = reinterpret_cast<const std::uint8_t*>(past) + first;
    for (std::int64_t c = low; c < high; ++c) to[c] *= static_cast<A>(seen[c]);
  }
  void read_input() const {
    for (std::int64_t h = 0; h < o_.heads; ++h) {
      read(o_.scores + h * o_.head_step, o_.past, input_ + h * row_);
      if (o_.bias == nullptr) continue;
      read(o_.bias + h * o_.head_step, o_.past, input_ + (o_.heads + h) * row_);
    }
  }

  ROFORMER_INLINE void fill_rows(A* rows, std::int64_t count, const A* value) const {
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill_n(rows + i * row_, row_, value == nullptr ? A(0) : value[i]);
    }
  }

  struct Layer {
    const A* weight;  // [taps, from, to]
    std::int64_t from, to;
  };
  ROFORMER_INLINE Layer first() const { return {o_.first_weight, channels_, o_.hidden}; }
  ROFORMER_INLINE Layer second() const { return {o_.second_weight, o_.hidden, o_.heads}; }

  // y += the layer's sums over its taps of x, whose rows begin half_ columns before those of y.
  void add_layer(const Layer& layer, const A* x, A* y) const {
    for (std::int64_t t = 0; t < o_.taps; ++t) {
      add_product<A>({.weight = layer.weight + t * layer.from * layer.to,
                      .in = layer.from,
                      .in_step = layer.to,
                      .out = layer.to,
                      .out_step = 1,
                      .x = x + t,
                      .y = y,
                      .row = row_,
                      .columns = row_});
    }
  }
  // y += the gradient of the layer's input, from the gradient x of its sums.
  void add_layer_back(const Layer& layer, const A* x, A* y) const {
    for (std::int64_t t = 0; t < o_.taps; ++t) {
      add_product<A>({.weight = layer.weight + t * layer.from * layer.to,
                      .in = layer.to,
                      .in_step = 1,
                      .out = layer.from,
                      .out_step = layer.to,
                      .x = x + 2 * half_ - t,
                      .y = y,
                      .row = row_,
                      .columns = row_});
    }
  }

  void make_hidden() const {
    fill_rows(hidden_, o_.hidden, o_.first_bias);
    add_layer(first(), input_, hidden_);
    bend_rows(hidden_, hidden_);
  }

  void make_hidden_gradient() const {
    fill_rows(to_hidden_, o_.hidden, static_cast<const A*>(nullptr));
    add_layer_back(second(), gradient_, to_hidden_);
    bend_rows(hidden_, to_hidden_);
  }

  // Multiplies the hidden layer's numbers by the LeakyReLU's slope at `signs`; 0 in columns without
  // a key.
  void bend_rows(const A* signs, A* numbers) const {
    const std::int64_t first_key = begin_ - half_;
    const std::int64_t low = std::max<std::int64_t>(0, -first_key);
    const std::int64_t high = std::min(count_ + 2 * half_, o_.keys - first_key);
    for (std::int64_t o = 0; o < o_.hidden; ++o, signs += row_, numbers += row_) {
      const A slope = o_.slope;
      for (std::int64_t c = 0; c < low; ++c) numbers[c] = 0;
#pragma GCC ivdep
      for (std::int64_t c = low; c < high; ++c) {
        const A number = numbers[c], lower = slope * number;
        numbers[c] = signs[c] > 0 ? number : lower;
      }
      for (std::int64_t c = high; c < row_; ++c) numbers[c] = 0;
    }
  }

  // For the part's own keys. An incomplete part is the row's last; the columns after it are 0.
  void add_weight_gradients() const {
    constexpr std::int64_t kLast = kLanes<A> - 1;
    const std::int64_t columns = (count_ + kLast) / kLanes<A> * kLanes<A>;
    A* sums = o_.to_weights;
    for (std::int64_t t = 0; t < o_.taps; ++t) {
      add_outer(input_ + half_ + t, channels_, to_hidden_ + half_, o_.hidden, row_, columns, sums);
      sums += channels_ * o_.hidden * kLanes<A>;
    }
    add_rows(to_hidden_ + half_, o_.hidden, row_, columns, sums);
    sums += o_.hidden * kLanes<A>;
    for (std::int64_t t = 0; t < o_.taps; ++t) {
      add_outer(hidden_ + t, o_.hidden, gradient_ + 2 * half_, o_.heads, row_, columns, sums);
      sums += o_.hidden * o_.heads * kLanes<A>;
    }
    add_rows(gradient_ + 2 * half_, o_.heads, row_, columns, sums);
  }

  ROFORMER_INLINE void write_gradient(const A* __restrict own, const A* __restrict through,
                                      const bool* past, A* __restrict to) const {
    if (past == nullptr) {
      for (std::int64_t c = 0; c < count_; ++c) to[c] = own[c] + through[c];
    } else {
      for (std::int64_t c = 0; c < count_; ++c) to[c] = own[c] + (past[c] ? through[c] : A(0));
    }
  }
};

template <typename A>
void score_network(const ScoreNetworkRow<A>& o) {
  for (std::int64_t begin = 0; begin < o.keys; begin += ScoreNetworkRow<A>::kKeysOfPart) {
    NetworkPart<A>(o, begin).forward();
  }
}

template <typename A>
void score_network_slopes(const ScoreNetworkRow<A>& o) {
  for (std::int64_t begin = 0; begin < o.keys; begin += ScoreNetworkRow<A>::kKeysOfPart) {
    NetworkPart<A>(o, begin).backward();
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
