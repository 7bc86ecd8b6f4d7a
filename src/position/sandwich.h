// Sandwich with the heads' coefficients given from outside.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "config/schemes/sandwich.h"
#include "position/scheme.h"

namespace roformer {

// coefficients [H]
std::unique_ptr<PositionScheme> make_sandwich_of(const SandwichSettings& settings,
                                                 at::Tensor coefficients);

}  // namespace roformer
