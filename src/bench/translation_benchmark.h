// Speed of a translator's training steps on pairs of random tokens as long as WMT's sentences, for
// comparison with other programs on the same pairs of lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/benchmark.h"
#include "config/settings.h"
#include "data/length_batches.h"
#include "tensor/device.h"

namespace roformer {

// A training batch of one bucket of lengths: pairs of similar length, about `tokens` on each side.
using LengthBucket = std::vector<PairLength>;

// Some buckets from short to long pairs, cut as training cuts them from 4,000 pairs whose source
// lengths are log-normal (median 24, deviation 0.55, from 4 to 120) and whose targets have 1.05
// times as many tokens (deviation 0.12, from 4 to 130). Always the same.
std::vector<LengthBucket> wmt_buckets(std::int64_t tokens);

// Full training steps of settings' translator, with vocabularies of model.vocabulary. A round
// trains on each of wmt_buckets(training.batch_tokens) once; the figures are of an average step of
// the round: `tokens` are targets, `examples` pairs. `warmup` rounds are not counted.
StepBenchmark benchmark_translator(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds);

}  // namespace roformer
