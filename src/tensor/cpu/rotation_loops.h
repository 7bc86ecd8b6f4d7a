// Rotation of pairs of features, with a bias before it.
#pragma once

#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <bool interleaved, typename T>
ROFORMER_INLINE void rotate_head(const Rotate<T>& o, const T* input, T* output,
                                 const Accumulate<T>* bias, const Accumulate<T>* cosine,
                                 const Accumulate<T>* sine, Accumulate<T> direction) {
  using A = Accumulate<T>;
  const std::int64_t half = o.rotary_width / 2;
  // A pair is read before it is written: output may be input.
  for_parts(half, [&](std::int64_t begin, std::int64_t count) ROFORMER_INLINED {
    A from[2 * kPart], to[2 * kPart];
    const std::int64_t at = interleaved ? 2 * begin : begin;
    const std::int64_t second = interleaved ? 1 : kPart, step = interleaved ? 2 : 1;
    const auto gather = [&](std::int64_t feature, std::int64_t features, A* place) {
      for (std::int64_t c = 0; c < features; ++c) place[c] = load(input[feature + c]);
      if (bias == nullptr) return;
      for (std::int64_t c = 0; c < features; ++c) place[c] += bias[feature + c];
    };
    if constexpr (interleaved) {
      gather(at, 2 * count, from);
    } else {
      gather(at, count, from);
      gather(half + at, count, from + kPart);
    }
    for (std::int64_t pair = 0; pair < count; ++pair) {
      const A a = from[step * pair], b = from[step * pair + second];
      const A s = sine[begin + pair] * direction;
      to[step * pair] = a * cosine[begin + pair] - b * s;
      to[step * pair + second] = b * cosine[begin + pair] + a * s;
    }
    if constexpr (interleaved) {
      store_row(to, output + at, 2 * count);
    } else {
      store_row(to, output + at, count);
      store_row(to + kPart, output + half + at, count);
    }
  });
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
