// The arithmetic that GPUs promise, which model FLOPs are a share of (MFU, Chowdhery 2022).
#pragma once

#include <optional>
#include <string_view>

namespace roformer {

// GFLOP/s of dense bfloat16 products with float sums by NVIDIA's data sheets, of a card as the
// driver names it ("NVIDIA H100 80GB HBM3"); nothing for one that is not listed.
std::optional<double> dense_bfloat16_peak(std::string_view card);

}  // namespace roformer
