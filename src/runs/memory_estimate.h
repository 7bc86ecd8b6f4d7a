// Estimates the memory of a training before it begins.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

struct MemoryEstimate {
  std::uint64_t state = 0;        // bytes of weights, their average, gradients and moments
  std::uint64_t activations = 0;  // of a micro-batch, kept for the backward pass
  std::uint64_t total() const { return state + activations; }
};

// By the sizes of the layers, for `tokens` of a micro-batch: within a factor of two where attention
// keeps no scores (matrices of a bias come on top). Of each of several processes.
MemoryEstimate estimate_memory(const Settings& settings, std::int64_t parameters, double tokens,
                               const ComputePlan& plan, std::int64_t processes = 1);

// "about 3.1 GiB: 1.2 GiB for 80,000,000 parameters, 1.9 GiB for a batch of 4,096 tokens".
std::string describe(const MemoryEstimate& estimate, std::int64_t parameters, double tokens);

// "--training.batch below 64, ...": the keys that take less, with what they are now.
std::string memory_remedies(const Settings& settings);

}  // namespace roformer
