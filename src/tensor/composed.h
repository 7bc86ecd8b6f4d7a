// The operations of operations.h composed of LibTorch's own, as devices without the loops of
// kernels.h take them. They give the same numbers up to rounding, and the same dropout exactly,
// which the tests see on a CPU.
#pragma once

#include "tensor/operations.h"

namespace roformer::composed {

// Bool [rows, columns], true where dropout makes a zero.
at::Tensor dropped(const DropoutSpec& spec, std::int64_t rows, std::int64_t columns,
                   at::Device device);

NormedSum residual_norm(const ResidualNormInputs& inputs);

}  // namespace roformer::composed
