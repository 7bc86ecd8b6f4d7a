// Rotation of pairs of features after adding a bias. A thread owns kVector neighbouring pairs of
// one head, or as many of the features after the rotated ones, and goes down the rows. No other
// thread writes the numbers that it reads, so it may work in place.
#include "tensor/gpu/row_kernels.h"
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

  // From neighbours in memory to the first and second features of pairs, and back.
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
      right[i] = !interleaved     ? seconds[i]
                 : other % 2 == 0 ? firsts[other / 2]
                                  : seconds[other / 2];
    }
  }
};

// The rows of a thread (begin, begin + step, ..) and the memory for the sums of its results.
template <typename T>
struct Way {
  std::uint32_t begin, end, step;
  Accumulate<T>* sums;
};

// The bias of a thread's numbers or, with kSums, the sums of its results.
template <typename A, int kVector, bool kSums>
struct BiasOrSums {
  A numbers[kVector] = {};

  // `bias` of the first number, or null.
  ROFORMER_INLINE explicit BiasOrSums(const A* bias) {
    if (kSums || bias == nullptr) return;
    for (int i = 0; i < kVector; ++i) numbers[i] = bias[i];
  }
  ROFORMER_INLINE void before(A* row) const {
    if (kSums) return;
    for (int i = 0; i < kVector; ++i) row[i] += numbers[i];
  }
  ROFORMER_INLINE void after(const A* row) {
    if (!kSums) return;
    for (int i = 0; i < kVector; ++i) numbers[i] += row[i];
  }
  ROFORMER_INLINE void put(A* sums) const {
    if (!kSums) return;
    for (int i = 0; i < kVector; ++i) sums[i] = numbers[i];
  }
};

template <typename A>
ROFORMER_INLINE const A* behind(const A* bias, std::int64_t offset) {
  return bias == nullptr ? nullptr : bias + offset;
}

template <typename T, int kVector, bool kSums>
ROFORMER_INLINE void rotate_pairs(const Rotate<T>& o, std::int64_t head, std::int64_t pair,
                                  const Way<T>& way) {
  using A = Accumulate<T>;
  const RotatedPairs<T, kVector> pairs(o, pair);
  const A direction = o.inverse ? A(-1) : A(1);
  const std::int64_t first = head * o.width + pairs.first, second = head * o.width + pairs.second;
  BiasOrSums<A, kVector, kSums> of_left(behind(o.bias, first)), of_right(behind(o.bias, second));
  const auto positions = static_cast<std::uint32_t>(o.positions);
  const T* const input = o.input + head * o.input_head;
  T* const output = o.output + head * o.output_head;
  A cosine[kVector], sine[kVector];
  std::uint32_t known = positions;               // the position of which they are
  Neighbours<T, kVector> next_left, next_right;  // on their way while a row is worked on
  const auto begin_row = [&](std::uint32_t row) {
    next_left = read_neighbours<kVector>(input + row * o.input_row + pairs.first);
    next_right = read_neighbours<kVector>(input + row * o.input_row + pairs.second);
  };
  if (way.begin < way.end) begin_row(way.begin);
  for (std::uint32_t row = way.begin; row < way.end; row += way.step) {
    A left[kVector], right[kVector], a[kVector], b[kVector];
    load_neighbours<kVector, T>(next_left, left);
    load_neighbours<kVector, T>(next_right, right);
    if (row + way.step < way.end) begin_row(row + way.step);
    if (const std::uint32_t position = row % positions; position != known) {
      const std::int64_t angle = position * (o.rotary_width / 2) + pair;
      load_neighbours<kVector>(o.cosine + angle, cosine);
      load_neighbours<kVector>(o.sine + angle, sine);
      known = position;
    }
    of_left.before(left);
    of_right.before(right);
    pairs.exchange(left, right, a, b);
    for (int i = 0; i < kVector; ++i) {
      const A s = sine[i] * direction, before = a[i];
      a[i] = before * cosine[i] - b[i] * s;
      b[i] = b[i] * cosine[i] + before * s;
    }
    pairs.exchange_back(a, b, left, right);
    store_neighbours<kVector>(output + row * o.output_row + pairs.first, left);
    store_neighbours<kVector>(output + row * o.output_row + pairs.second, right);
    of_left.after(left);
    of_right.after(right);
  }
  of_left.put(way.sums + first);
  of_right.put(way.sums + second);
}

template <typename T, int kVector, bool kSums>
ROFORMER_INLINE void copy_features(const Rotate<T>& o, std::int64_t head, std::int64_t feature,
                                   const Way<T>& way) {
  using A = Accumulate<T>;
  BiasOrSums<A, kVector, kSums> own(behind(o.bias, head * o.width + feature));
  const T* const input = o.input + head * o.input_head + feature;
  T* const output = o.output + head * o.output_head + feature;
  Neighbours<T, kVector> next;
  if (way.begin < way.end) next = read_neighbours<kVector>(input + way.begin * o.input_row);
  for (std::uint32_t row = way.begin; row < way.end; row += way.step) {
    A numbers[kVector];
    load_neighbours<kVector, T>(next, numbers);
    if (row + way.step < way.end) {
      next = read_neighbours<kVector>(input + (row + way.step) * o.input_row);
    }
    own.before(numbers);
    store_neighbours<kVector>(output + row * o.output_row, numbers);
    own.after(numbers);
  }
  own.put(way.sums + head * o.width + feature);
}

// blockIdx.y is the part. Its units are the threads' shares of all its heads of a row; a block
// processes as many rows at once as it has threads for. With kSums there is no bias.
template <typename T, int kVector, bool kSums>
__global__ void __launch_bounds__(gpu::kRotateThreads, 2)
    rotate(gpu::RotatedParts<T> parts, std::uint32_t rows) {
  const Rotate<T>& o = parts.parts[blockIdx.y];
  const auto pairs = static_cast<std::uint32_t>(o.rotary_width / 2 / kVector);
  const auto shares = pairs + static_cast<std::uint32_t>((o.width - o.rotary_width) / kVector);
  const std::uint32_t units = static_cast<std::uint32_t>(o.heads) * shares;
  const std::uint32_t together = units < blockDim.x ? blockDim.x / units : 1;
  const std::uint32_t own = units < blockDim.x ? threadIdx.x / units : 0;
  if (own >= together) return;
  const std::uint32_t begin = blockIdx.x * together + own;
  const Way<T> way{.begin = begin,
                   .end = rows,
                   .step = gridDim.x * together,
                   .sums = parts.sums[blockIdx.y] + begin * o.heads * o.width};
  for (std::uint32_t unit = threadIdx.x - own * units; unit < units; unit += blockDim.x) {
    const std::int64_t head = unit / shares, share = unit % shares;
    if (share < pairs) {
      rotate_pairs<T, kVector, kSums>(o, head, share * kVector, way);
    } else {
      copy_features<T, kVector, kSums>(o, head, o.rotary_width + (share - pairs) * kVector, way);
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
