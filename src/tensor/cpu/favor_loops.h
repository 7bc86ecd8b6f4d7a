// FAVOR+'s features and their gradient.
#pragma once

#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

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

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
