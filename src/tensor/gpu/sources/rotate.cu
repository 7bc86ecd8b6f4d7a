// Rotation of pairs of features, with a bias before it. A thread has kVector neighbouring pairs of
// one head, or as many of the features behind the rotated ones, and goes down the rows; what it
// reads nobody else writes, so that it may work in place.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// A thread's features of a head: two times kVector from `first` and from `second` on.
template <typename T, int kVector>
struct RotatedPairs {
  using A = Accumulate<T>;
  std::int64_t first, second;
  bool interleaved;

  ROFORMER_INLINE RotatedPairs(const Rotate<T>& o, std::int64_t pair)
      : first(o.interleaved ? 2 * pair : pair),
        second(o.interleaved ? first + kVector : first + o.rotary_width / 2),
        interleaved(o.interleaved) {}

  // What lies side by side in memory, as the first and the second of each pair, and back.
  ROFORMER_INLINE void exchange(const A* left, const A* right, A* firsts, A* seconds) const {
    for (int i = 0; i < kVector; ++i) {
      const int even = 2 * i, odd = 2 * i + 1;
      firsts[i] = !interleaved ? left[i] : even < kVector ? left[even] : right[even - kVector];
      seconds[i] = !interleaved ? right[i] : odd < kVector ? left[odd] : right[odd - kVector];
    }
  }
  ROFORMER_INLINE void exchange_back(const A* firsts, const A* seconds, A* left, A* right) const {
    for (int i = 0; i < kVector; ++i) {
      const int other = kVector + i;
      left[i] = !interleaved ? firsts[i] : i % 2 == 0 ? firsts[i / 2] : seconds[i / 2];
      right[i] = !interleaved ? seconds[i] : other % 2 == 0 ? firsts[other / 2] : seconds[other / 2];
    }
  }
};

template <typename T, int kVector>
ROFORMER_INLINE void rotate_pairs(const Rotate<T>& o, std::int64_t head, std::int64_t pair,
                                  std::uint32_t begin, std::uint32_t end, std::uint32_t step) {
  using A = Accumulate<T>;
  const RotatedPairs<T, kVector> pairs(o, pair);
  const A direction = o.inverse ? A(-1) : A(1);
  A left_bias[kVector] = {}, right_bias[kVector] = {};
  if (o.bias != nullptr) {
    for (int i = 0; i < kVector; ++i) {
      left_bias[i] = o.bias[head * o.width + pairs.first + i];
      right_bias[i] = o.bias[head * o.width + pairs.second + i];
    }
  }
  const auto positions = static_cast<std::uint32_t>(o.positions);
  for (std::uint32_t row = begin; row < end; row += step) {
    const T* const input = o.input + row * o.input_row + head * o.input_head;
    T* const output = o.output + row * o.output_row + head * o.output_head;
    const std::int64_t angle = row % positions * (o.rotary_width / 2) + pair;
    A cosine[kVector], sine[kVector], left[kVector], right[kVector], a[kVector], b[kVector];
    load_neighbours<kVector>(o.cosine + angle, cosine);
    load_neighbours<kVector>(o.sine + angle, sine);
    load_neighbours<kVector>(input + pairs.first, left);
    load_neighbours<kVector>(input + pairs.second, right);
    for (int i = 0; i < kVector; ++i) {
      left[i] += left_bias[i];
      right[i] += right_bias[i];
    }
    pairs.exchange(left, right, a, b);
    for (int i = 0; i < kVector; ++i) {
      const A s = sine[i] * direction, first = a[i];
      a[i] = first * cosine[i] - b[i] * s;
      b[i] = b[i] * cosine[i] + first * s;
    }
    pairs.exchange_back(a, b, left, right);
    store_neighbours<kVector>(output + pairs.first, left);
    store_neighbours<kVector>(output + pairs.second, right);
  }
}

template <typename T, int kVector>
ROFORMER_INLINE void copy_features(const Rotate<T>& o, std::int64_t head, std::int64_t feature,
                                   std::uint32_t begin, std::uint32_t end, std::uint32_t step) {
  using A = Accumulate<T>;
  A bias[kVector] = {}, numbers[kVector];
  if (o.bias != nullptr) {
    for (int i = 0; i < kVector; ++i) bias[i] = o.bias[head * o.width + feature + i];
  }
  for (std::uint32_t row = begin; row < end; row += step) {
    load_neighbours<kVector>(o.input + row * o.input_row + head * o.input_head + feature, numbers);
    for (int i = 0; i < kVector; ++i) numbers[i] += bias[i];
    store_neighbours<kVector>(o.output + row * o.output_row + head * o.output_head + feature,
                              numbers);
  }
}

// The units of a row are its threads' parts of all heads. Where they are fewer than the threads of a
// block, the block stands over several rows at once.
template <typename T, int kVector>
__global__ void rotate(Rotate<T> o, std::uint32_t rows) {
  const auto pairs = static_cast<std::uint32_t>(o.rotary_width / 2 / kVector);
  const auto parts = pairs + static_cast<std::uint32_t>((o.width - o.rotary_width) / kVector);
  const std::uint32_t units = static_cast<std::uint32_t>(o.heads) * parts;
  const std::uint32_t together = units < blockDim.x ? blockDim.x / units : 1;
  const std::uint32_t own = units < blockDim.x ? threadIdx.x / units : 0;
  if (own >= together) return;
  const std::uint32_t begin = blockIdx.x * together + own, step = gridDim.x * together;
  for (std::uint32_t unit = threadIdx.x - own * units; unit < units; unit += blockDim.x) {
    const std::int64_t head = unit / parts, part = unit % parts;
    if (part < pairs) {
      rotate_pairs<T, kVector>(o, head, part * kVector, begin, rows, step);
    } else {
      copy_features<T, kVector>(o, head, o.rotary_width + (part - pairs) * kVector, begin, rows,
                                step);
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
