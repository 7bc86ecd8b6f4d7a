// Positions that are drawn instead of counted, and the scheme over them with given slopes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/schemes/explicit_positions.h"
#include "position/scheme.h"

namespace roformer {

// `count` different numbers of first .. first + size - 1 in order, each set as likely as any other
// (Knuth, algorithm S): a function of the key.
std::vector<double> sorted_sample(std::int64_t count, std::int64_t first, std::int64_t size,
                                  std::uint64_t key);

// For the forms alibi and noisy_alibi: slopes [H].
std::unique_ptr<PositionScheme> make_explicit_positions_of_slopes(
    const ExplicitPositionsSettings& settings, const at::Tensor& slopes);

}  // namespace roformer
