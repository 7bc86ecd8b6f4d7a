// Estimates before a training how much memory it will need.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

// Bytes of each process. State: what stays from step to step.
struct MemoryEstimate {
  std::uint64_t weights = 0;
  std::uint64_t gradients = 0;    // with the sums of training.reduce deterministic
  std::uint64_t moments = 0;      // of the optimiser
  std::uint64_t average = 0;      // of the weights, with training.ema
  std::uint64_t activations = 0;  // kept for the backward pass of one micro-batch
  std::uint64_t logits = 0;       // a block of them with their gradient
  std::uint64_t state() const { return weights + gradients + moments + average; }
  std::uint64_t total() const { return state() + activations + logits; }
};

// A micro-batch and its model beyond the number of tokens. Negative: what the settings suggest.
struct MemoryDetails {
  double targets = -1;        // tokens that the last layer computes: those with a loss
  double source_tokens = -1;  // of a translator, whose `tokens` are those of the target
  double length = -1;         // tokens of a text, where scores are kept
  // Layers whose attention keeps its scores, because the scheme changes them by their content. With
  // dropout of the probabilities all layers do.
  std::int64_t layers_with_scores = 0;
};

// Estimates the memory of each of `processes` from the sizes of the layers and from `tokens`, the
// tokens of a micro-batch. Muon keeps one moment of `of_muon` numbers instead of two. Counts
// tensors: the program itself takes some 250 MiB on a CPU. tests/bench compares the estimate with
// measured steps; it is within 15 % where the scheme has no terms besides biases and rotations.
MemoryEstimate estimate_memory(const Settings& settings, std::int64_t parameters, double tokens,
                               const ComputePlan& plan, std::int64_t processes = 1,
                               std::int64_t of_muon = 0, const MemoryDetails& details = {});

// "about 3.1 GiB: 1.2 GiB for 80,000,000 parameters, 1.9 GiB for a batch of 4,096 tokens".
std::string describe(const MemoryEstimate& estimate, std::int64_t parameters, double tokens);

// "lower --training.batch (64 now) ...": the keys that save memory, with their current values.
std::string memory_remedies(const Settings& settings);

}  // namespace roformer
