// Tables of sines and cosines for several schemes. Angles are computed in double.
#pragma once

#include <ATen/core/Tensor.h>

#include "config/schemes/sinusoidal.h"
#include "position/positions.h"

namespace roformer {

// p[i, .] = sines and cosines of i * base^(-2t/width), [L, width] float64. Layouts of section 1:
// interleaved (Vaswani 2017, section 3.5), concat [sines | cosines] (Transformer-XL), tensor2tensor
// (concat with exponent t / (width/2 - 1)). The width is even.
at::Tensor sinusoid_table(const Positions& positions, std::int64_t width, double base,
                          SinusoidalLayout layout);
// The same function at any positions [.., L] -> [.., L, width].
at::Tensor sinusoids_at(const at::Tensor& positions, std::int64_t width, double base,
                        SinusoidalLayout layout);

}  // namespace roformer
