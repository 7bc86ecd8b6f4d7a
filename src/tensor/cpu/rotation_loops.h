// Rotation of pairs of features, with a bias before it.
#pragma once

#include "tensor/kernel_arithmetic.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

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

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
