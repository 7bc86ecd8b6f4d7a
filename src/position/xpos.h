// The parts of xPos: the decay of each pair and the mask of block-causal attention.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "config/schemes/xpos.h"
#include "position/positions.h"

namespace roformer {

// zeta_i = (2i / width + gamma) / (1 + gamma), i = 0 .. width/2 - 1.
std::vector<double> xpos_zeta(std::int64_t width, double gamma);
// The logarithm of the growth of a pair of q per position: ln(zeta_i) / scale_base.
std::vector<double> xpos_growth(const XposSettings& settings, std::int64_t width);

// Bool [Lq, Lk], true where j <= i and j is in i's block or the previous one (section 3.3).
at::Tensor block_causal_mask(const Positions& queries, const Positions& keys, std::int64_t block);

}  // namespace roformer
