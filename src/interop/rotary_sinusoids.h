// The table of sines and cosines that transformers' RoFormer keeps among its weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

// [positions, head_width] float32: the sines of position * 10000^(-2i / head_width) for each pair i
// in the first half, the cosines in the second.
at::Tensor rotary_sinusoids(std::int64_t positions, std::int64_t head_width);

}  // namespace roformer
