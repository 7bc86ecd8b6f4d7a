// Estimates the memory that a training needs, before it runs.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

struct MemoryEstimate {
  std::uint64_t state = 0;        // bytes of weights, their average, gradients and moments
  std::uint64_t activations = 0;  // bytes kept for the backward pass of a micro-batch
  std::uint64_t total() const { return state + activations; }
};

// From the sizes of the layers, for `tokens` of a micro-batch, in each of `processes`. Right within
// a factor of two where attention keeps no scores; matrices of a bias are not included.
MemoryEstimate estimate_memory(const Settings& settings, std::int64_t parameters, double tokens,
                               const ComputePlan& plan, std::int64_t processes = 1);

// "about 3.1 GiB: 1.2 GiB for 80,000,000 parameters, 1.9 GiB for a batch of 4,096 tokens".
std::string describe(const MemoryEstimate& estimate, std::int64_t parameters, double tokens);

// "lower --training.batch (64 now) ...": the keys that save memory, with their present values.
std::string memory_remedies(const Settings& settings);

}  // namespace roformer
