// The frequencies of Fourier position embedding, and what its coefficients begin with.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/schemes/fope.h"

namespace roformer {

// base^(-2i/dim), dim = max(fourier_dim, head width), of which those are kept that complete
// floor_ratio rotations in the training's length.
std::vector<double> fope_frequencies(const FopeSettings& settings, std::int64_t head_width,
                                     std::int64_t training_length);

// [frequencies, pairs] float64: pair t begins with frequency t * ceil(frequencies / pairs) alone.
at::Tensor fope_identity(std::int64_t frequencies, std::int64_t pairs);

}  // namespace roformer
