// A step model whose probabilities are a function of the text alone, so that every text can be
// listed and its probability is known.
#pragma once

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "catch.h"
#include "model/step_model.h"

namespace roformer {

using Text = std::vector<std::int64_t>;

inline constexpr std::int64_t kToyVocabulary = 4;
inline constexpr std::int64_t kToyEnd = 0;
inline constexpr std::int64_t kToyBegin = 3;

// Logits of what follows a text: random numbers, always the same for the same text.
inline std::vector<float> toy_logits(const Text& text, std::uint64_t seed) {
  std::uint64_t key = seed;
  for (const std::int64_t id : text) key = random_key({key, static_cast<std::uint64_t>(id) + 7});
  Random random(key);
  std::vector<float> logits;
  for (std::int64_t i = 0; i < kToyVocabulary; ++i) {
    logits.push_back(static_cast<float>(2 * random.normal()));
  }
  return logits;
}

inline double log_probability(const std::vector<float>& logits, std::int64_t id) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  return logits[static_cast<std::size_t>(id)] - std::log(sum);
}

class ToyModel : public StepModel {
 public:
  ToyModel(std::size_t rows, std::uint64_t seed) : texts_(rows), seed_(seed) {
    for (std::size_t i = 0; i < rows; ++i) seeds_.push_back(i);
  }

  at::Tensor append(const at::Tensor& ids) override {
    REQUIRE(ids.size(0) == std::ssize(texts_));
    at::Tensor logits = at::empty({ids.size(0), kToyVocabulary}, at::kFloat);
    for (std::size_t row = 0; row < texts_.size(); ++row) {
      for (std::int64_t i = 0; i < ids.size(1); ++i) {
        texts_[row].push_back(
            ids.const_data_ptr<std::int64_t>()[static_cast<std::int64_t>(row) * ids.size(1) + i]);
      }
      const auto values = toy_logits(texts_[row], seed_ + seeds_[row]);
      std::copy(values.begin(), values.end(),
                logits.mutable_data_ptr<float>() + static_cast<std::int64_t>(row) * kToyVocabulary);
    }
    most_rows = std::max(most_rows, texts_.size());
    ++steps;
    return logits;
  }
  void reorder(std::span<const std::int64_t> rows) override {
    std::vector<Text> texts;
    std::vector<std::uint64_t> seeds;
    for (const std::int64_t row : rows) {
      texts.push_back(texts_.at(static_cast<std::size_t>(row)));
      seeds.push_back(seeds_.at(static_cast<std::size_t>(row)));
    }
    texts_ = std::move(texts);
    seeds_ = std::move(seeds);
  }

  std::size_t most_rows = 0;
  std::int64_t steps = 0;

 private:
  std::vector<Text> texts_;
  std::vector<std::uint64_t> seeds_;  // each sentence has its own probabilities
  std::uint64_t seed_;
};

}  // namespace roformer
