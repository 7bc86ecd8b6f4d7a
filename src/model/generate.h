// Texts drawn from a step model, token by token, with several samples of each beginning. Every
// sample has its own random key, so it does not depend on its neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/beam_search.h"
#include "model/sampling.h"
#include "model/step_model.h"

namespace roformer {

// The beginning and limits of a row's texts, and the keys of its samples.
struct SampledBeginning {
  BeamSentence text;
  std::vector<std::uint64_t> keys;  // not empty
};

struct SampleSettings {
  SamplingSettings choice;
  bool always_ends = true;  // the last token of the longest text is the end; false: it breaks off
  std::vector<std::int64_t> other_ends = {};  // ids that end a text as the vocabulary's end does
  // Told of each token as it is chosen, the end excepted. Returns whether the text goes on.
  std::function<bool(std::int64_t beginning, std::int64_t sample, std::int64_t id)> on_token;
};

// One hypothesis for each key of each beginning, in their order, with the probabilities that the
// model itself gives, whatever the choice made of them; its score is the log probability. The model
// holds one row a beginning and nothing yet; all begin with equally many ids. Without an end (-1)
// and others texts break off.
std::vector<std::vector<Hypothesis>> sample_texts(StepModel& model,
                                                  const std::vector<SampledBeginning>& beginnings,
                                                  const BeamVocabulary& vocabulary,
                                                  const SampleSettings& settings);

struct GenerationOptions {
  SamplingSettings sampling;
  std::int64_t tokens = 100;  // at most, after the prompt
  std::int64_t samples = 1;
  std::int64_t first_sample = 0;       // its number, where they are made in several calls
  std::uint64_t seed = 1;              // sample number i draws from (seed, i)
  std::int64_t vocabulary = 0;         // ids from here on are unused; 0: all are used
  std::vector<std::int64_t> excluded;  // ids that are never chosen
  std::vector<std::int64_t> ends;      // ids that end a text
  // Told of each token as it is chosen, the end excepted. Returns whether the text goes on.
  std::function<bool(std::int64_t sample, std::int64_t id)> on_token;
};

// The ids after the prompt (not empty), without the end, one vector a sample. The model is new: it
// has seen nothing.
std::vector<std::vector<std::int64_t>> generate(StepModel& model,
                                                const std::vector<std::int64_t>& prompt,
                                                const GenerationOptions& options);

}  // namespace roformer
