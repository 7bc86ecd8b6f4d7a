// The frequencies of Fourier position embedding and the initial values of its coefficients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/schemes/fope.h"

namespace roformer {

// base^(-2i/dim) with dim = max(fourier_dim, head width), without the frequencies that complete
// less than floor_ratio rotations in the training length.
std::vector<double> fope_frequencies(const FopeSettings& settings, std::int64_t head_width,
                                     std::int64_t training_length);

// [frequencies, pairs] float64: initially pair t has only frequency t * ceil(frequencies / pairs).
at::Tensor fope_identity(std::int64_t frequencies, std::int64_t pairs);

}  // namespace roformer
