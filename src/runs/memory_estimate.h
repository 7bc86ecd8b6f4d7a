// Estimates before a training how much memory it will need.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

struct MemoryEstimate {
  std::uint64_t state = 0;        // bytes of weights, averaged weights, gradients and moments
  std::uint64_t activations = 0;  // bytes kept for the backward pass of one micro-batch
  std::uint64_t total() const { return state + activations; }
};

// Estimates the memory of each of `processes` from the sizes of the layers and from `tokens`, the
// tokens of a micro-batch. Muon keeps one moment of `of_muon` numbers instead of two. The result is
// right within a factor of two where attention stores no scores. It leaves out matrices of a bias.
MemoryEstimate estimate_memory(const Settings& settings, std::int64_t parameters, double tokens,
                               const ComputePlan& plan, std::int64_t processes = 1,
                               std::int64_t of_muon = 0);

// "about 3.1 GiB: 1.2 GiB for 80,000,000 parameters, 1.9 GiB for a batch of 4,096 tokens".
std::string describe(const MemoryEstimate& estimate, std::int64_t parameters, double tokens);

// "lower --training.batch (64 now) ...": the keys that save memory, with their current values.
std::string memory_remedies(const Settings& settings);

}  // namespace roformer
