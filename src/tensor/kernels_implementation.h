// The loops behind kernels.h. Included once per instruction set by a file that defines
// ROFORMER_KERNELS_NAMESPACE; written so that the compiler's vectoriser takes every inner loop.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#define ROFORMER_INLINE [[gnu::always_inline]] inline

#include "tensor/kernel_arithmetic.h"
#include "tensor/kernels.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// As many numbers as 64 bytes hold, whatever the instruction set: what is summed in lanes is summed
// in the same order on each.
template <typename A>
struct LanesOf {
  typedef A type __attribute__((vector_size(64)));
};
template <typename A>
using Lanes = typename LanesOf<A>::type;
template <typename A>
inline constexpr std::int64_t kLanes = 64 / sizeof(A);

template <typename A>
ROFORMER_INLINE void load_lanes(const A* numbers, Lanes<A>& lanes) {
  std::memcpy(&lanes, numbers, sizeof lanes);
}
ROFORMER_INLINE void load_lanes(const c10::BFloat16* numbers, Lanes<float>& lanes) {
  typedef std::uint16_t Narrow __attribute__((vector_size(32)));
  Narrow narrow;
  std::memcpy(&narrow, numbers, sizeof narrow);
  const Lanes<std::uint32_t> bits = __builtin_convertvector(narrow, Lanes<std::uint32_t>) << 16;
  std::memcpy(&lanes, &bits, sizeof lanes);
}

// The largest of some numbers; what is not a number is passed over. In lanes by hand: the
// vectoriser takes a largest number only where there may be none that is not one.
template <typename T>
ROFORMER_INLINE Accumulate<T> largest_of(const T* numbers, std::int64_t count) {
  using A = Accumulate<T>;
  Lanes<A> largest = Lanes<A>{} - std::numeric_limits<A>::infinity(), values;
  std::int64_t c = 0;
  for (; c + kLanes<A> <= count; c += kLanes<A>) {
    load_lanes(numbers + c, values);
    largest = values > largest ? values : largest;
  }
  A most = -std::numeric_limits<A>::infinity();
  for (; c < count; ++c) most = load(numbers[c]) > most ? load(numbers[c]) : most;
  for (std::int64_t i = 0; i < kLanes<A>; ++i) most = largest[i] > most ? largest[i] : most;
  return most;
}

template <typename T>
ROFORMER_INLINE Accumulate<T> sum_of(const T* numbers, std::int64_t count) {
  using A = Accumulate<T>;
  Lanes<A> sums = {}, values;
  std::int64_t c = 0;
  for (; c + kLanes<A> <= count; c += kLanes<A>) {
    load_lanes(numbers + c, values);
    sums += values;
  }
  A sum = 0;
  for (; c < count; ++c) sum += load(numbers[c]);
  for (std::int64_t i = 0; i < kLanes<A>; ++i) sum += sums[i];
  return sum;
}

template <Activation activation, typename T>
void bias_activation_forward_as(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict input = o.input + row * o.columns;
    const auto* __restrict bias = o.bias;
    T* __restrict output = o.output + row * o.columns;
    for (std::int64_t c = 0; c < o.columns; ++c) {
      store(output[c], activate<activation>(load(input[c]) + bias[c]));
    }
  }
}

template <Activation activation, typename T>
void bias_activation_backward_as(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict input = o.input + row * o.columns;
    const T* __restrict gradient = o.output_gradient + row * o.columns;
    const A* __restrict bias = o.bias;
    A* __restrict bias_gradient = o.bias_gradient;
    T* __restrict output = o.output + row * o.columns;
    for (std::int64_t c = 0; c < o.columns; ++c) {
      const A value = load(gradient[c]) * activate_slope<activation>(load(input[c]) + bias[c]);
      bias_gradient[c] += value;
      store(output[c], value);
    }
  }
}

template <typename T>
void bias_activation_forward(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  switch (o.activation) {
    case Activation::gelu:
      return bias_activation_forward_as<Activation::gelu>(o, begin, end);
    case Activation::gelu_tanh:
      return bias_activation_forward_as<Activation::gelu_tanh>(o, begin, end);
    case Activation::relu:
      return bias_activation_forward_as<Activation::relu>(o, begin, end);
    case Activation::swish:
      return bias_activation_forward_as<Activation::swish>(o, begin, end);
  }
}

template <typename T>
void bias_activation_backward(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  switch (o.activation) {
    case Activation::gelu:
      return bias_activation_backward_as<Activation::gelu>(o, begin, end);
    case Activation::gelu_tanh:
      return bias_activation_backward_as<Activation::gelu_tanh>(o, begin, end);
    case Activation::relu:
      return bias_activation_backward_as<Activation::relu>(o, begin, end);
    case Activation::swish:
      return bias_activation_backward_as<Activation::swish>(o, begin, end);
  }
}

template <Activation activation, typename T>
void gated_activation_forward_as(const GatedActivation<T>& o, std::int64_t begin,
                                 std::int64_t end) {
  const std::int64_t n = o.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict input = o.input + 2 * row * n;
    const auto* __restrict bias = o.bias;
    T* __restrict output = o.output + row * n;
    for (std::int64_t c = 0; c < n; ++c) {
      store(output[c],
            activate<activation>(load(input[c]) + bias[c]) * (load(input[n + c]) + bias[n + c]));
    }
  }
}

template <Activation activation, typename T>
void gated_activation_backward_as(const GatedActivation<T>& o, std::int64_t begin,
                                  std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t n = o.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict input = o.input + 2 * row * n;
    const T* __restrict gradient = o.output_gradient + row * n;
    const A* __restrict bias = o.bias;
    A* __restrict bias_gradient = o.bias_gradient;
    T* __restrict output = o.output + 2 * row * n;
    for (std::int64_t c = 0; c < n; ++c) {
      const A inner = load(input[c]) + bias[c];
      const A gate = load(input[n + c]) + bias[n + c];
      const A outer = load(gradient[c]);
      const A to_inner = outer * gate * activate_slope<activation>(inner);
      const A to_gate = outer * activate<activation>(inner);
      bias_gradient[c] += to_inner;
      bias_gradient[n + c] += to_gate;
      store(output[c], to_inner);
      store(output[n + c], to_gate);
    }
  }
}

// Of the two activations that have a gated form.
template <typename T>
void gated_activation_forward(const GatedActivation<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.activation == Activation::swish) {
    return gated_activation_forward_as<Activation::swish>(o, begin, end);
  }
  gated_activation_forward_as<Activation::gelu>(o, begin, end);
}

template <typename T>
void gated_activation_backward(const GatedActivation<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.activation == Activation::swish) {
    return gated_activation_backward_as<Activation::swish>(o, begin, end);
  }
  gated_activation_backward_as<Activation::gelu>(o, begin, end);
}

template <typename T>
void residual_norm_forward(const ResidualNorm<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t n = o.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    T* __restrict sum = o.sum + row * n;
    const DropoutRow dropout(o.dropout, row);
    const bool drops = o.dropout.probability > 0;
    if (o.input != nullptr) {
      const T* __restrict input = o.input + row * n;
      const A* __restrict bias = o.bias;
      const T* __restrict residual = o.residual == nullptr ? nullptr : o.residual + row * n;
      // Without a bias or a residual the sum starts from the parts that are there.
      for (std::int64_t c = 0; c < n; ++c) store(sum[c], load(input[c]));
      if (bias != nullptr) {
        for (std::int64_t c = 0; c < n; ++c) store(sum[c], load(sum[c]) + bias[c]);
      }
      if (drops) {
        for (std::int64_t c = 0; c < n; ++c) {
          store(sum[c], load(sum[c]) * static_cast<A>(dropout(static_cast<std::uint32_t>(c))));
        }
      }
      if (residual != nullptr) {
        for (std::int64_t c = 0; c < n; ++c) store(sum[c], load(sum[c]) + load(residual[c]));
      }
    } else {
      std::memcpy(sum, o.residual + row * n, static_cast<std::size_t>(n) * sizeof(T));
    }
    if (o.gain == nullptr) continue;
    A total = 0;
    for (std::int64_t c = 0; c < n; ++c) total += load(sum[c]);
    const A mean = o.centred ? total / static_cast<A>(n) : A(0);
    A squares = 0;
    for (std::int64_t c = 0; c < n; ++c) {
      const A centred = load(sum[c]) - mean;
      squares += centred * centred;
    }
    const A inverse = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(o.epsilon));
    o.mean[row] = mean;
    o.inverse_deviation[row] = inverse;
    T* __restrict normed = o.normed + row * n;
    const A* __restrict gain = o.gain;
    const A* __restrict shift = o.shift;
    if (shift == nullptr) {
      for (std::int64_t c = 0; c < n; ++c) {
        store(normed[c], (load(sum[c]) - mean) * inverse * gain[c]);
      }
      continue;
    }
    for (std::int64_t c = 0; c < n; ++c) {
      store(normed[c], (load(sum[c]) - mean) * inverse * gain[c] + shift[c]);
    }
  }
}

template <typename T>
void residual_norm_backward(const ResidualNorm<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t n = o.columns;
  constexpr std::int64_t kStack = 4096;
  A local[kStack];
  A* __restrict gradient = n <= kStack ? local : new A[static_cast<std::size_t>(n)];
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t c = 0; c < n; ++c) gradient[c] = 0;
    if (o.normed_gradient != nullptr) {
      const T* __restrict sum = o.sum + row * n;
      const T* __restrict from_normed = o.normed_gradient + row * n;
      const A* __restrict gain = o.gain;
      A* __restrict gain_gradient = o.gain_gradient;
      A* __restrict shift_gradient = o.shift_gradient;
      const A mean = o.mean[row];
      const A inverse = o.inverse_deviation[row];
      A total = 0, projection = 0;
      for (std::int64_t c = 0; c < n; ++c) {
        const A outer = load(from_normed[c]);
        const A centred = (load(sum[c]) - mean) * inverse;
        gain_gradient[c] += outer * centred;
        shift_gradient[c] += outer;
        const A inner = outer * gain[c];
        gradient[c] = inner;
        total += inner;
        projection += inner * centred;
      }
      total = o.centred ? total / static_cast<A>(n) : A(0);
      projection /= static_cast<A>(n);
      for (std::int64_t c = 0; c < n; ++c) {
        const A centred = (load(sum[c]) - mean) * inverse;
        gradient[c] = inverse * (gradient[c] - total - centred * projection);
      }
    }
    if (o.sum_gradient != nullptr) {
      const T* __restrict from_sum = o.sum_gradient + row * n;
      for (std::int64_t c = 0; c < n; ++c) gradient[c] += load(from_sum[c]);
    }
    if (o.residual_gradient != nullptr) {
      T* __restrict to_residual = o.residual_gradient + row * n;
      for (std::int64_t c = 0; c < n; ++c) store(to_residual[c], gradient[c]);
    }
    if (o.input_gradient != nullptr) {
      T* __restrict to_input = o.input_gradient + row * n;
      if (o.dropout.probability > 0) {
        const DropoutRow dropout(o.dropout, row);
        for (std::int64_t c = 0; c < n; ++c) {
          gradient[c] *= static_cast<A>(dropout(static_cast<std::uint32_t>(c)));
        }
      }
      for (std::int64_t c = 0; c < n; ++c) store(to_input[c], gradient[c]);
      if (o.bias_gradient != nullptr) {
        A* __restrict to_bias = o.bias_gradient;
        for (std::int64_t c = 0; c < n; ++c) to_bias[c] += gradient[c];
      }
    }
  }
  if (gradient != local) delete[] gradient;
}

template <bool interleaved, typename T>
ROFORMER_INLINE void rotate_head(const Rotate<T>& o, const T* input, T* output,
                                 const Accumulate<T>* bias, const Accumulate<T>* cosine,
                                 const Accumulate<T>* sine, Accumulate<T> direction) {
  using A = Accumulate<T>;
  const std::int64_t half = o.rotary_width / 2;
  for (std::int64_t pair = 0; pair < half; ++pair) {
    const std::int64_t first = interleaved ? 2 * pair : pair;
    const std::int64_t second = interleaved ? 2 * pair + 1 : pair + half;
    A a = load(input[first]);
    A b = load(input[second]);
    if (bias != nullptr) {
      a += bias[first];
      b += bias[second];
    }
    const A s = sine[pair] * direction;
    store(output[first], a * cosine[pair] - b * s);
    store(output[second], b * cosine[pair] + a * s);
  }
  for (std::int64_t c = o.rotary_width; c < o.width; ++c) {
    store(output[c], bias == nullptr ? load(input[c]) : load(input[c]) + bias[c]);
  }
}

template <bool interleaved, typename T>
void rotate_rows(const Rotate<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t half = o.rotary_width / 2;
  const A direction = o.inverse ? A(-1) : A(1);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t position = row % o.positions;
    const A* cosine = o.cosine + position * half;
    const A* sine = o.sine + position * half;
    for (std::int64_t head = 0; head < o.heads; ++head) {
      const T* input = o.input + row * o.input_row + head * o.input_head;
      T* output = o.output + row * o.output_row + head * o.output_head;
      const A* bias = o.bias == nullptr ? nullptr : o.bias + head * o.width;
      if (bias == nullptr) {
        rotate_head<interleaved>(o, input, output, nullptr, cosine, sine, direction);
      } else {
        rotate_head<interleaved>(o, input, output, bias, cosine, sine, direction);
      }
    }
  }
}

template <typename T>
void rotate(const Rotate<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.interleaved) return rotate_rows<true>(o, begin, end);
  return rotate_rows<false>(o, begin, end);
}

template <typename T>
RowLoss cross_entropy_row(const CrossEntropyRow<T>& o) {
  using A = Accumulate<T>;
  T* __restrict logits = o.logits;
  const A* __restrict bias = o.bias;
  const std::int64_t columns = o.columns;
  for (std::int64_t c = 0; c < columns; ++c) store(logits[c], load(logits[c]) + bias[c]);
  const A largest = largest_of(logits, columns);
  const A sum = o.smoothing > 0 ? sum_of(logits, columns) : A(0);
  const A at_label = load(logits[o.label]);
  RowLoss result{.correct = at_label >= largest};
  if (result.correct) {
    // Of equals the first counts: bfloat16 has many.
    std::int32_t before = 0;
    for (std::int64_t c = 0; c < o.label; ++c) before |= load(logits[c]) >= at_label ? 1 : 0;
    result.correct = before == 0;
  }
  A total = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    const A power = exponential(load(logits[c]) - largest);
    total += power;
    store(logits[c], power);
  }
  const A factor = A(1) / total;
  const A share = static_cast<A>(o.smoothing / static_cast<double>(columns));
  for (std::int64_t c = 0; c < columns; ++c) store(logits[c], load(logits[c]) * factor - share);
  store(logits[o.label], load(logits[o.label]) - static_cast<A>(1 - o.smoothing));
  const double logarithm = std::log(static_cast<double>(total));
  result.loss = logarithm + static_cast<double>(largest - at_label);
  const double mean = logarithm + static_cast<double>(largest) -
                      static_cast<double>(sum) / static_cast<double>(columns);
  result.smoothed = (1 - o.smoothing) * result.loss + o.smoothing * mean;
  return result;
}

// A heap of the `wanted` largest values so far, the least at its root; of equals the higher id is
// less.
template <typename A>
struct Candidate {
  A value;
  std::int64_t id;
  bool before(const Candidate& other) const {
    return value > other.value || (value == other.value && id < other.id);
  }
};

// A type of this instruction set's own: the functions of std::vector<float> are the whole
// program's.
template <typename A>
struct BlockLargest {
  A value;
};

// Two passes over the row, both in vectors, and a look into the blocks whose largest value is above
// the least of those held.
template <typename T>
void row_tops(const RowTops<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  constexpr std::int64_t kBlock = 128;
  const auto ranks_before = [](const Candidate<A>& a, const Candidate<A>& b) {
    return a.before(b);
  };
  std::vector<BlockLargest<A>> block_largest(
      static_cast<std::size_t>((o.columns + kBlock - 1) / kBlock));
  std::vector<Candidate<A>> held;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict logits = o.logits + row * o.columns;
    A largest = -std::numeric_limits<A>::infinity();
    for (std::int64_t first = 0, block = 0; first < o.columns; first += kBlock, ++block) {
      const A most = largest_of(logits + first, std::min(kBlock, o.columns - first));
      block_largest[static_cast<std::size_t>(block)].value = most;
      largest = most > largest ? most : largest;
    }
    A total = 0;
    for (std::int64_t c = 0; c < o.columns; ++c) total += exponential(load(logits[c]) - largest);
    store(o.normalizers[row], largest + static_cast<A>(std::log(static_cast<double>(total))));
    held.clear();
    for (std::int64_t first = 0, block = 0; first < o.columns; first += kBlock, ++block) {
      const bool full = static_cast<std::int64_t>(held.size()) == o.wanted;
      if (full && !(block_largest[static_cast<std::size_t>(block)].value > held.front().value))
        continue;
      const std::int64_t last = first + kBlock < o.columns ? first + kBlock : o.columns;
      for (std::int64_t c = first; c < last; ++c) {
        const A value = load(logits[c]);
        if (static_cast<std::int64_t>(held.size()) == o.wanted) {
          if (!(value > held.front().value)) continue;
          std::pop_heap(held.begin(), held.end(), ranks_before);
          held.pop_back();
        }
        held.push_back({value, c});
        std::push_heap(held.begin(), held.end(), ranks_before);
      }
    }
    std::sort_heap(held.begin(), held.end(), ranks_before);
    for (std::int64_t i = 0; i < o.wanted; ++i) {
      store(o.values[row * o.wanted + i], held[static_cast<std::size_t>(i)].value);
      o.ids[row * o.wanted + i] = held[static_cast<std::size_t>(i)].id;
    }
  }
}

// Four rows at a time: a pass over the sums costs as much as one over a row.
template <typename T>
void column_sums(const ColumnSums<T>& o, std::int64_t begin, std::int64_t end) {
  auto* __restrict sums = o.sums;
  std::int64_t row = begin;
  for (; row + 4 <= end; row += 4) {
    const T* __restrict a = o.rows + row * o.columns;
    const T* __restrict b = a + o.columns;
    const T* __restrict c = b + o.columns;
    const T* __restrict d = c + o.columns;
    for (std::int64_t i = 0; i < o.columns; ++i) {
      sums[i] += (load(a[i]) + load(b[i])) + (load(c[i]) + load(d[i]));
    }
  }
  for (; row < end; ++row) {
    const T* __restrict a = o.rows + row * o.columns;
    for (std::int64_t i = 0; i < o.columns; ++i) sums[i] += load(a[i]);
  }
}

template <typename A>
void running_sums(const RunningSums<A>& o) {
  A* __restrict sum = o.sum;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const A* __restrict input = o.input + r * o.input_row;
    A* __restrict output = o.output + r * o.output_row;
    const A gain = o.gains == nullptr ? A(1) : o.gains[r * o.gain_row];
    const A factor = o.factors == nullptr ? A(1) : o.factors[r * o.factor_row];
    for (std::int64_t c = 0; c < o.columns; ++c) {
      const A reached = sum[c] + gain * input[c];
      sum[c] = reached;
      output[c] = factor * reached;
    }
  }
}

template <typename A>
void exponential_features(const ExponentialFeatures<A>& o, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    A* __restrict numbers = o.numbers + r * o.columns;
    const A* __restrict input = o.input + r * o.width;
    A square = 0;
    for (std::int64_t c = 0; c < o.width; ++c) square += input[c] * input[c];
    const A stabilizer = o.stabilizer == nullptr ? largest_of(numbers, o.columns) : *o.stabilizer;
    const A shift = o.half * square + stabilizer;
    for (std::int64_t c = 0; c < o.columns; ++c) {
      numbers[c] = (exponential(numbers[c] - shift) + o.epsilon) * o.share;
    }
  }
}

template <typename A>
void exponential_features_backward(const ExponentialFeaturesBackward<A>& o, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const A* __restrict features = o.features + r * o.columns;
    const A* __restrict gradient = o.gradient + r * o.columns;
    A* __restrict to_exponents = o.to_exponents + r * o.columns;
    for (std::int64_t c = 0; c < o.columns; ++c) {
      to_exponents[c] = gradient[c] * (features[c] - o.floor);
    }
    const A factor = -o.factor * sum_of(to_exponents, o.columns);
    const A* __restrict input = o.input + r * o.width;
    A* __restrict to_input = o.to_input + r * o.width;
    for (std::int64_t c = 0; c < o.width; ++c) to_input[c] = factor * input[c];
  }
}

template <typename T>
KernelTable<T> make_table() {
  return {
      bias_activation_forward<T>,
      bias_activation_backward<T>,
      gated_activation_forward<T>,
      gated_activation_backward<T>,
      residual_norm_forward<T>,
      residual_norm_backward<T>,
      rotate<T>,
      cross_entropy_row<T>,
      row_tops<T>,
      column_sums<T>,
      running_sums<Accumulate<T>>,
      exponential_features<Accumulate<T>>,
      exponential_features_backward<Accumulate<T>>,
  };
}
template KernelTable<float> make_table<float>();
template KernelTable<double> make_table<double>();
template KernelTable<c10::BFloat16> make_table<c10::BFloat16>();

#undef ROFORMER_INLINE

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
