// ALiBi's slopes, and the scheme with slopes given from outside.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "position/scheme.h"

namespace roformer {

// 2^(-8h/H), h = 1 .. H, where H is a power of two; else those of the power below and every second
// of the power above (Press 2022, the authors' code).
std::vector<double> alibi_slopes(std::int64_t heads);

// -left (i - j) for j <= i and -right (j - i) for j > i. left and right [H].
std::unique_ptr<PositionScheme> make_alibi_of_slopes(at::Tensor left, at::Tensor right);

}  // namespace roformer
