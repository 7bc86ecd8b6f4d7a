// AdamW, and the elementwise passes of Muon, over a contiguous piece of the parameters. The step's values from the gradient's norm and
// the loss stay on the device: `decide` turns them into the numbers that `update` reads.
#include "tensor/gpu/adamw.h"
#include "tensor/gpu/muon.h"
#include "tensor/gpu/sources/block.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// One block for each of `sums` [kSquareSums].
template <typename T, int kVector>
__global__ void squares(const T* gradient, std::int64_t size, double* sums) {
  __shared__ double scratch[32];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kVector;
  double own = 0;
  for (std::int64_t i =
           (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kVector;
       i < size; i += stride) {
    T numbers[kVector];
    load_neighbours<kVector>(gradient + i, numbers);
    for (int j = 0; j < kVector; ++j) {
      own += static_cast<double>(numbers[j]) * static_cast<double>(numbers[j]);
    }
  }
  own = over_block(own, Sum(), 0.0, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = own;
}

// Runs as one block of whole warps. `updates` is the number of updates so far, before and after the
// step.
template <typename T>
__global__ void adamw_decide(gpu::AdamWDecision o, const T* loss) {
  __shared__ double scratch[32];
  double total = 0;
  for (unsigned i = threadIdx.x; i < gpu::kSquareSums; i += blockDim.x) total += o.squares[i];
  total = over_block(total, Sum(), 0.0, scratch);
  if (threadIdx.x != 0) return;
  const double norm = std::sqrt(total) / o.targets;
  const bool skipped = !std::isfinite(norm) || !std::isfinite(static_cast<double>(*loss));
  *o.gradient_norm = norm;
  *o.skipped = skipped;
  if (!skipped) *o.updates += 1;
  const double clip = o.clip > 0 && norm > o.clip ? o.clip / norm : 1;
  const auto updates = static_cast<double>(*o.updates);
  o.decided[gpu::kSkips] = skipped ? 1 : 0;
  o.decided[gpu::kGradientScale] = clip / o.targets;
  o.decided[gpu::kFirstInverse] = 1 / (1 - std::pow(o.beta1, updates));
  o.decided[gpu::kSecondInverse] = 1 / std::sqrt(1 - std::pow(o.beta2, updates));
}

template <typename T, int kVector>
__global__ void adamw_update(gpu::AdamWUpdate<T> o) {
  const bool skips = o.decided[gpu::kSkips] != 0;
  const T scale = static_cast<T>(o.decided[gpu::kGradientScale]);
  const T step_size = static_cast<T>(o.learning_rate * o.decided[gpu::kFirstInverse]);
  const T second_inverse = static_cast<T>(o.decided[gpu::kSecondInverse]);
  const T beta1 = static_cast<T>(o.beta1), beta2 = static_cast<T>(o.beta2);
  const T rest1 = static_cast<T>(1 - o.beta1), rest2 = static_cast<T>(1 - o.beta2);
  const T epsilon = static_cast<T>(o.epsilon), decay = static_cast<T>(o.decay);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kVector;
  T nothing[kVector] = {};
  for (std::int64_t i =
           (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kVector;
       i < o.size; i += stride) {
    if (!skips) {
      T value[kVector], gradient[kVector], first[kVector], second[kVector];
      load_neighbours<kVector>(o.value + i, value);
      load_neighbours<kVector>(o.gradient + i, gradient);
      load_neighbours<kVector>(o.first + i, first);
      load_neighbours<kVector>(o.second + i, second);
      for (int j = 0; j < kVector; ++j) {
        const T g = gradient[j] * scale;
        first[j] = beta1 * first[j] + rest1 * g;
        second[j] = beta2 * second[j] + rest2 * g * g;
        value[j] = value[j] * decay -
                   step_size * first[j] / (std::sqrt(second[j]) * second_inverse + epsilon);
      }
      store_neighbours<kVector>(o.value + i, value);
      store_neighbours<kVector>(o.first + i, first);
      store_neighbours<kVector>(o.second + i, second);
    }
    store_neighbours<kVector>(o.gradient + i, nothing);
  }
}

template <typename T, int kVector>
__global__ void muon_momentum(gpu::MuonMomentum<T> o) {
  const bool skips = o.decided[gpu::kSkips] != 0;
  const T scale = static_cast<T>(o.decided[gpu::kGradientScale]);
  const T kept = static_cast<T>(o.decay), rest = static_cast<T>(1 - o.decay);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kVector;
  for (std::int64_t i =
           (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kVector;
       i < o.size; i += stride) {
    T update[kVector] = {};
    if (!skips) {
      T momentum[kVector];
      load_neighbours<kVector>(o.gradient + i, update);
      load_neighbours<kVector>(o.momentum + i, momentum);
      for (int j = 0; j < kVector; ++j) {
        const T g = update[j] * scale;
        momentum[j] = kept * momentum[j] + rest * g;
        update[j] = o.nesterov ? kept * momentum[j] + rest * g : momentum[j];
      }
      store_neighbours<kVector>(o.momentum + i, momentum);
    }
    store_neighbours<kVector>(o.gradient + i, update);
  }
}

template <typename T, int kVector>
__global__ void muon_descend(gpu::MuonDescent<T> o) {
  const bool skips = o.decided[gpu::kSkips] != 0;
  const T step_size = static_cast<T>(o.step_size), decay = static_cast<T>(o.decay);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kVector;
  T nothing[kVector] = {};
  for (std::int64_t i =
           (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kVector;
       i < o.size; i += stride) {
    if (!skips) {
      T value[kVector], update[kVector];
      load_neighbours<kVector>(o.value + i, value);
      load_neighbours<kVector>(o.update + i, update);
      for (int j = 0; j < kVector; ++j) value[j] = value[j] * decay - step_size * update[j];
      store_neighbours<kVector>(o.value + i, value);
    }
    store_neighbours<kVector>(o.update + i, nothing);
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
