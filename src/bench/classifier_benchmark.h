// Speed of fine-tuning steps and of prediction on sentences as long as those of SST-2, for
// comparison with other programs on the same lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/benchmark.h"
#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

// Full fine-tuning steps of settings' classifier on training.batch sentences of random tokens.
// `warmup` steps are not counted.
StepBenchmark benchmark_classifier(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds);

// What `roformer predict` does with 16 times training.batch such sentences is a step.
StepBenchmark benchmark_prediction(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds);

// Lengths of sentences of SST-2's training set with BERT's vocabulary, [CLS] and [SEP] counted, by
// rising length: 32 evenly spaced quantiles of its 67,349 sentences (mean 13.3), again and again.
std::vector<std::int64_t> sst2_lengths(std::int64_t sentences);

}  // namespace roformer
