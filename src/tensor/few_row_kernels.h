// Products of a few rows with a weight matrix in float: x [T, in] * weight^T for a weight
// [out, in] that stays as it is in memory. With few rows the time is that of reading the weight
// once; BLAS libraries read it more slowly or want a second copy in their own layout. A row's
// product does not depend on the rows beside it.
#pragma once

#include <cstdint>
#include <string_view>

namespace roformer::kernels {

struct FewRowProduct {
  std::int64_t rows = 0, in = 0, out = 0;
  const float* x = nullptr;       // [rows, in]
  const float* weight = nullptr;  // [out, in]
  float* product = nullptr;       // [rows, out]
};

// Computes the outputs begin .. end - 1 of all rows.
using MultiplyFewRows = void (*)(const FewRowProduct& product, std::int64_t begin,
                                 std::int64_t end);

// The loop for an instruction set's name as in eight_bit_kernels.h, or null if this processor does
// not have it.
MultiplyFewRows few_row_kernel(std::string_view instruction_set);
// That of the best instruction set within instruction_level().
MultiplyFewRows few_row_kernel();

}  // namespace roformer::kernels
