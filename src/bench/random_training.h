// The speed of training steps and of prediction on random tokens, for models of every task. Lengths
// of sentences and pairs are those of public data sets, so that other programs can be timed on the
// same ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/benchmark.h"
#include "data/length_batches.h"

namespace roformer {

// A masked or causal language model (settings.task) that is trained on random tokens.
// settings.model.vocabulary must be set.
std::unique_ptr<TrainingObjective> random_language(const Settings& settings,
                                                   const ComputePlan& plan);

// A classifier of two classes on training.batch texts of `length` random tokens.
std::unique_ptr<TrainingObjective> random_texts_objective(const Settings& settings,
                                                          const ComputePlan& plan,
                                                          std::int64_t length);

// A translator on wmt_buckets(training.batch_tokens), a bucket for each number of a batch.
std::unique_ptr<TrainingObjective> random_pairs(const Settings& settings, const ComputePlan& plan);

// Full training steps (batch, forward, backward, clipping, AdamW) of a language model.
StepBenchmark benchmark_language_model(const Settings& settings, const ComputePlan& plan,
                                       const BenchmarkRounds& rounds);

// Full fine-tuning steps of a classifier on training.batch sentences of sst2_lengths().
StepBenchmark benchmark_classifier(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds);

// A step does the work of `roformer predict` on 16 times training.batch such sentences.
StepBenchmark benchmark_prediction(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds);

// Full training steps of a translator with vocabularies of model.vocabulary. A round trains on each
// of wmt_buckets(training.batch_tokens) once; the figures are of an average step of the round,
// whose `tokens` are those of the target and whose `examples` are pairs.
StepBenchmark benchmark_translator(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds);

// Lengths of sentences of SST-2's training set with BERT's vocabulary, [CLS] and [SEP] counted, in
// ascending order: 32 evenly spaced quantiles of its 67,349 sentences (mean 13.3), repeated.
std::vector<std::int64_t> sst2_lengths(std::int64_t sentences);

// A training batch: pairs of similar length, about `tokens` on each side.
using LengthBucket = std::vector<PairLength>;

// Some buckets from short to long pairs, cut as training cuts them from 4,000 pairs whose source
// lengths are log-normal (median 24, deviation 0.55, from 4 to 120) and whose targets have 1.05
// times as many tokens (deviation 0.12, from 4 to 130). Always the same.
std::vector<LengthBucket> wmt_buckets(std::int64_t tokens);

}  // namespace roformer
