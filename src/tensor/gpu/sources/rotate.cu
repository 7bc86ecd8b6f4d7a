// Rotation of pairs of features, with a bias before it. A thread has one pair of one head of one
// row, or one of the features behind the rotated ones; so it may work in place.
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <typename T>
__global__ void rotate(Rotate<T> o, std::int64_t rows) {
  using A = Accumulate<T>;
  const std::int64_t half = o.rotary_width / 2, parts = half + o.width - o.rotary_width;
  const std::int64_t all = rows * o.heads * parts;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += threads) {
    const std::int64_t part = i % parts, head = i / parts % o.heads, row = i / parts / o.heads;
    const T* const input = o.input + row * o.input_row + head * o.input_head;
    T* const output = o.output + row * o.output_row + head * o.output_head;
    const A* const bias = o.bias == nullptr ? nullptr : o.bias + head * o.width;
    if (part >= half) {
      const std::int64_t c = part + half;
      store(output[c], bias == nullptr ? load(input[c]) : load(input[c]) + bias[c]);
      continue;
    }
    const std::int64_t first = o.interleaved ? 2 * part : part;
    const std::int64_t second = o.interleaved ? first + 1 : part + half;
    A a = load(input[first]), b = load(input[second]);
    if (bias != nullptr) {
      a += bias[first];
      b += bias[second];
    }
    const std::int64_t angle = row % o.positions * half + part;
    const A cosine = o.cosine[angle], sine = o.inverse ? -o.sine[angle] : o.sine[angle];
    store(output[first], a * cosine - b * sine);
    store(output[second], b * cosine + a * sine);
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
