#include "training/adamw_kernel.h"

// One version for each instruction set. The loops are vectorised because the square root sets no
// errno (see CMakeLists.txt). Not with ThreadSanitizer: the loader calls the resolvers that choose
// a version before ThreadSanitizer is initialised.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define ROFORMER_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ROFORMER_CLONES
#endif

namespace roformer {
namespace {

// std::sqrt would not be inlined into the versions.
[[gnu::always_inline]] inline float square_root(float value) {
  return __builtin_sqrtf(value);
}
[[gnu::always_inline]] inline double square_root(double value) {
  return __builtin_sqrt(value);
}

template <typename T>
[[gnu::always_inline]] inline void update(const AdamWPiece<T>& piece, const AdamWStep& step) {
  T* __restrict__ const value = piece.value;
  T* __restrict__ const gradient = piece.gradient;
  T* __restrict__ const first = piece.first;
  T* __restrict__ const second = piece.second;
  const T beta1 = static_cast<T>(step.beta1);
  const T beta2 = static_cast<T>(step.beta2);
  const T rest1 = static_cast<T>(1 - step.beta1);
  const T rest2 = static_cast<T>(1 - step.beta2);
  const T epsilon = static_cast<T>(step.epsilon);
  const T scale = static_cast<T>(step.gradient_scale);
  const T decay = static_cast<T>(step.decay);
  const T step_size = static_cast<T>(step.step_size);
  const T second_inverse = static_cast<T>(step.second_inverse);
  for (std::int64_t i = 0; i < piece.size; ++i) {
    const T g = gradient[i] * scale;
    const T m = beta1 * first[i] + rest1 * g;
    const T v = beta2 * second[i] + rest2 * g * g;
    first[i] = m;
    second[i] = v;
    value[i] = value[i] * decay - step_size * m / (square_root(v) * second_inverse + epsilon);
    gradient[i] = 0;
  }
}

template <typename T>
[[gnu::always_inline]] inline void add_momentum(const MuonPiece<T>& piece,
                                                const MuonMomentumStep& step) {
  T* __restrict__ const gradient = piece.gradient;
  T* __restrict__ const momentum = piece.momentum;
  const T kept = static_cast<T>(step.momentum), rest = static_cast<T>(1 - step.momentum);
  const T scale = static_cast<T>(step.gradient_scale);
  const T ahead = step.nesterov ? kept : T{1}, own = step.nesterov ? rest : T{0};
  for (std::int64_t i = 0; i < piece.size; ++i) {
    const T g = gradient[i] * scale;
    const T m = kept * momentum[i] + rest * g;
    momentum[i] = m;
    gradient[i] = ahead * m + own * g;
  }
}

template <typename T>
[[gnu::always_inline]] inline void descend(const MuonDescent<T>& piece) {
  T* __restrict__ const value = piece.value;
  T* __restrict__ const update = piece.update;
  const T decay = static_cast<T>(piece.decay), step_size = static_cast<T>(piece.step_size);
  for (std::int64_t i = 0; i < piece.size; ++i) {
    value[i] = value[i] * decay - step_size * update[i];
    update[i] = 0;
  }
}

template <typename T>
[[gnu::always_inline]] inline double squares(const T* values, std::int64_t size) {
  // Independent lanes, because a compiler may not reorder one sum.
  constexpr std::int64_t kLanes = 16;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; i < size; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

}  // namespace

ROFORMER_CLONES void adamw_update(const AdamWPiece<float>& piece, const AdamWStep& step) {
  update(piece, step);
}
ROFORMER_CLONES void adamw_update(const AdamWPiece<double>& piece, const AdamWStep& step) {
  update(piece, step);
}
ROFORMER_CLONES void muon_momentum(const MuonPiece<float>& piece, const MuonMomentumStep& step) {
  add_momentum(piece, step);
}
ROFORMER_CLONES void muon_momentum(const MuonPiece<double>& piece, const MuonMomentumStep& step) {
  add_momentum(piece, step);
}
ROFORMER_CLONES void muon_descend(const MuonDescent<float>& piece) {
  descend(piece);
}
ROFORMER_CLONES void muon_descend(const MuonDescent<double>& piece) {
  descend(piece);
}
ROFORMER_CLONES double sum_of_squares(const float* values, std::int64_t size) {
  return squares(values, size);
}
ROFORMER_CLONES double sum_of_squares(const double* values, std::int64_t size) {
  return squares(values, size);
}

}  // namespace roformer
