// A translator as the tasks use it: an encoder-decoder and its parameters, built from settings, the
// loss of a batch of pairs, and the search for translations. S source tokens, T target tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/settings.h"
#include "data/parallel_batches.h"
#include "decoding/beam_search.h"
#include "decoding/sampling.h"
#include "model/encoder_decoder.h"
#include "tensor/device.h"
#include "tensor/inference_weights.h"
#include "tensor/operations.h"
#include "tensor/parameters.h"
#include "training/task.h"

namespace roformer {

// Pairs of sentences as tensors. Index i of both layouts is one pair.
struct TranslationBatch {
  at::Tensor source_ids;  // [S] int64, each sentence with its end
  TokenLayout source;
  at::Tensor target_ids;  // [T] int64, each sentence behind the begin token
  TokenLayout target;
  at::Tensor labels;  // [T] int64: what follows each target id, the end at last
};
// In the memory of the host.
TranslationBatch to_tensors(const ParallelBatch& batch);
TranslationBatch to_device(const TranslationBatch& batch, at::Device device);
// In the memory that a GPU copies from at once; for who makes batches ahead.
TranslationBatch pinned_for(const TranslationBatch& batch, at::Device device);

// How many tokens each side has, and whether they are the same ones.
struct TranslationVocabularies {
  std::int64_t source = 0;
  std::int64_t target = 0;
  bool joint = true;
};

class Translator {
 public:
  // Throws Error (usage) for ties that the vocabularies do not allow.
  Translator(const Settings& settings, const TranslationVocabularies& vocabularies,
             const ComputePlan& plan);

  // The same parameters in a model of its own, for another thread: what the schemes keep from one
  // call to the next is of one thread. This outlives it.
  std::unique_ptr<Translator> borrowing() const;

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const EncoderDecoder& model() const { return model_; }
  const ComputePlan& plan() const { return plan_; }
  // Tokens of the longest source and target that the schemes' tables have positions for; 0: any.
  std::int64_t longest_source() const { return longest_source_; }
  std::int64_t longest_target() const { return longest_target_; }

  // Adds what a step of decoding multiplies by, for the time that it is in use: in the form of the
  // plan's precision, or in another one. The logits' table stays in fp32 beside bf16. Nothing on a
  // GPU.
  void add_to(InferenceWeights& weights) const;
  void add_to(InferenceWeights& weights, WeightForm form) const;

  // Cross entropy at every label of a batch on the device. The probes are asked by the layers that
  // they want.
  CrossEntropy loss(const TranslationBatch& batch, const ForwardMode& mode,
                    double label_smoothing = 0, const SelfProbes& probes = {}) const;

 private:
  Translator(const Translator& lender, ParameterStore parameters);

  Settings settings_;
  TranslationVocabularies vocabularies_;
  ComputePlan plan_;
  ParameterStore parameters_;
  EncoderDecoder model_;
  std::int64_t longest_source_, longest_target_;
};

// The tokens around the sentences, and those that no translation contains.
struct TranslationTokens {
  SentenceTokens target;
  std::vector<std::int64_t> excluded;
  TokenId unknown = -1;         // excluded too, unless decoding.unknown allows it
  std::int64_t vocabulary = 0;  // of the target
};
TranslationTokens translation_tokens(const Tokenizer& target);

// Texts that are drawn instead of searched for. Sample k of a source draws from the key (seed, the
// source's number, k), whatever is translated beside it.
struct TranslationSampling {
  SamplingSettings choice;
  std::uint64_t seed = 1;
  std::vector<std::uint64_t> numbers;  // of the sources
};

struct TranslationOptions {
  DecodingSettings decoding;
  std::int64_t n_best = 1;                      // or samples
  std::optional<TranslationSampling> sampling;  // none: the beam search
  bool ends_with_prefix = false;  // each hypothesis is its prefix: what a given text scores
  // Called on any thread before each group of sentences; what it throws ends the search.
  std::function<void()> before_group = {};
};

// The n-best hypotheses of each source (ids with their end), best first, or its samples. Sentences
// of like length are searched together; the result is in the order of the sources. A prefix, where
// there is one a source, begins each hypothesis. Several translators of one vocabulary search as an
// ensemble. On a CPU each thread searches for other sentences as long as there are enough of them:
// a step's products are too small to share, and memory grows with the threads.
std::vector<std::vector<Hypothesis>> translate(
    const std::vector<const Translator*>& translators,
    const std::vector<std::vector<TokenId>>& sources, const TranslationTokens& tokens,
    const TranslationOptions& options, const std::vector<std::vector<TokenId>>& prefixes = {});

}  // namespace roformer
