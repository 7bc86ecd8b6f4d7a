// Text from a model, token by token: several samples of one prompt side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/sampling.h"
#include "model/step_model.h"

namespace roformer {

struct GenerationOptions {
  SamplingSettings sampling;
  std::int64_t tokens = 100;  // at most, after the prompt
  std::int64_t samples = 1;
  std::int64_t first_sample = 0;       // its number, where they are made in several calls
  std::uint64_t seed = 1;              // sample number i draws from (seed, i)
  std::int64_t vocabulary = 0;         // ids from here on stand for nothing; 0: all do
  std::vector<std::int64_t> excluded;  // ids that are never chosen
  std::vector<std::int64_t> ends;      // ids that end a text
  // Told of each token as it is chosen, the end excepted.
  std::function<void(std::int64_t sample, std::int64_t id)> on_token;
};

// The ids after the prompt (not empty), without the end, one vector a sample. The model is new: it
// has seen nothing.
std::vector<std::vector<std::int64_t>> generate(StepModel& model,
                                                const std::vector<std::int64_t>& prompt,
                                                const GenerationOptions& options);

}  // namespace roformer
