// The loops behind kernels.h. Included once per instruction set by a file that defines
// ROFORMER_KERNELS_NAMESPACE; written so that the compiler's vectoriser takes every inner loop.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/kernels.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

#define ROFORMER_INLINE [[gnu::always_inline]] inline

ROFORMER_INLINE float load(const c10::BFloat16& value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.x) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
ROFORMER_INLINE float load(const float& value) {
  return value;
}
ROFORMER_INLINE double load(const double& value) {
  return value;
}

ROFORMER_INLINE void store(float& target, float value) {
  target = value;
}
ROFORMER_INLINE void store(double& target, double value) {
  target = value;
}
// Round to nearest even; NaN stays NaN because its quiet bit is kept by the addition's limits.
ROFORMER_INLINE void store(c10::BFloat16& target, float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  target.x = static_cast<std::uint16_t>(is_nan ? 0x7fc0u : rounded >> 16);
}

// exp for float with a relative error below 2e-7: 2^n times a polynomial of the remainder (Cephes
// expf coefficients). The library's function is not vectorised without -ffast-math.
ROFORMER_INLINE float exponential(float x) {
  x = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float n = std::nearbyint(x * 1.44269504088896341f);
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::int32_t exponent = (static_cast<std::int32_t>(n) + 127) << 23;
  float scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return p * scale;
}
ROFORMER_INLINE double exponential(double x) {
  return std::exp(x);
}

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

// Standard normal density and distribution at x. For float the error function is Abramowitz and
// Stegun 7.1.26 (absolute error 1.5e-7), whose exponential is the density's own.
ROFORMER_INLINE void gaussian(float x, float& density, float& distribution) {
  const float power = exponential(-0.5f * x * x);
  const float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * std::fabs(x));
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * power;
  density = 0.3989422804f * power;
  distribution = x > 0 ? 1.0f - tail : tail;
}
ROFORMER_INLINE void gaussian(double x, double& density, double& distribution) {
  density = 0.39894228040143267794 * std::exp(-0.5 * x * x);
  distribution = 0.5 * std::erfc(-x * 0.70710678118654752440);
}

template <Activation activation, typename A>
ROFORMER_INLINE A activate(A x) {
  if constexpr (activation == Activation::relu) {
    return x > 0 ? x : A(0);
  } else if constexpr (activation == Activation::gelu) {
    A density, distribution;
    gaussian(x, density, distribution);
    return x * distribution;
  } else if constexpr (activation == Activation::swish) {
    return x / (A(1) + exponential(-x));
  } else {
    // 0.5 x (1 + tanh(u)) = x sigmoid(2u)
    const A u = A(0.79788456080286535588) * (x + A(0.044715) * x * x * x);
    return x / (A(1) + exponential(-2 * u));
  }
}

template <Activation activation, typename A>
ROFORMER_INLINE A activate_slope(A x) {
  if constexpr (activation == Activation::relu) {
    return x > 0 ? A(1) : A(0);
  } else if constexpr (activation == Activation::gelu) {
    A density, distribution;
    gaussian(x, density, distribution);
    return distribution + x * density;
  } else if constexpr (activation == Activation::swish) {
    const A gate = A(1) / (A(1) + exponential(-x));
    return gate + x * gate * (A(1) - gate);
  } else {
    const A u = A(0.79788456080286535588) * (x + A(0.044715) * x * x * x);
    const A slope = A(0.79788456080286535588) * (A(1) + A(3 * 0.044715) * x * x);
    const A gate = A(1) / (A(1) + exponential(-2 * u));
    return gate + x * 2 * gate * (A(1) - gate) * slope;
  }
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

// The factor of an element under dropout: 0 or 1 / (1 - probability). 32-bit finaliser of Mueller
// (lowbias32) over the row's key and the column. composed::dropped computes the same.
struct DropoutRow {
  std::uint32_t key;
  std::uint32_t threshold;
  float scale;

  DropoutRow(const Dropout& dropout, std::int64_t row) {
    const auto number = static_cast<std::uint64_t>(dropout.first_row + row + 1);
    std::uint64_t mixed = dropout.key + 0x9e3779b97f4a7c15ULL * number;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    key = static_cast<std::uint32_t>(mixed ^ (mixed >> 31));
    threshold = static_cast<std::uint32_t>(dropout.probability * 4294967296.0);
    scale = static_cast<float>(1.0 / (1.0 - dropout.probability));
  }
  ROFORMER_INLINE float operator()(std::uint32_t column) const {
    std::uint32_t x = key + column * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    x ^= x >> 16;
    return x < threshold ? 0.0f : scale;
  }
};

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
  };
}
template KernelTable<float> make_table<float>();
template KernelTable<double> make_table<double>();
template KernelTable<c10::BFloat16> make_table<c10::BFloat16>();

#undef ROFORMER_INLINE

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
