#include "tasks/translation/alignment.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "base/error.h"
#include "tasks/task_model.h"

namespace roformer {
namespace {

CrossAttentionRequest request_for(const Translator& translator, std::int64_t layer) {
  const std::int64_t layers = translator.model().decoder().settings().model.layers;
  if (layer > layers) {
    throw_usage("decoding.alignment_layer",
                fmt::format("got {}, but the decoder has {} layers", layer, layers),
                "0 is the last");
  }
  return {.layer = (layer == 0 ? layers : layer) - 1};
}

// Pairs with at least one token on both sides, joined without padding.
struct Forced {
  std::vector<std::int64_t> source_ids, target_ids, source_lengths, target_lengths;
  std::vector<std::size_t> numbers;

  void add(const AlignedPair& pair, std::int64_t begin, std::size_t number) {
    source_ids.insert(source_ids.end(), pair.source.begin(), pair.source.end());
    source_lengths.push_back(std::ssize(pair.source));
    // The step that chose a token saw the tokens before it.
    target_ids.push_back(begin);
    target_ids.insert(target_ids.end(), pair.target.begin(), pair.target.end() - 1);
    target_lengths.push_back(std::ssize(pair.target));
    numbers.push_back(number);
  }
};

// For each pair [target tokens, source tokens].
std::vector<at::Tensor> attention_of(const Translator& translator, const Forced& forced,
                                     std::int64_t layer) {
  CrossAttentionRequest request = request_for(translator, layer);
  const at::Device device = translator.plan().device;
  translator.model().forward({.source_ids = copy_to(forced.source_ids, device),
                              .source = TokenLayout::of_lengths(forced.source_lengths),
                              .target_ids = copy_to(forced.target_ids, device),
                              .target = TokenLayout::of_lengths(forced.target_lengths),
                              .cross_request = &request},
                             {.precision = translator.plan().precision});
  return std::move(request.probabilities);
}

Alignment alignment_of(const at::Tensor& probabilities) {
  // The last token of the source is its end token.
  const at::Tensor best =
      at::argmax(probabilities.narrow(1, 0, probabilities.size(1) - 1), 1).to(at::kCPU);
  Alignment result;
  for (std::int64_t i = 0; i < best.numel(); ++i) {
    result.emplace_back(best.const_data_ptr<std::int64_t>()[i], i);
  }
  return result;
}

}  // namespace

std::vector<Alignment> align(const std::vector<const Translator*>& translators,
                             const std::vector<AlignedPair>& pairs, const TranslationTokens& tokens,
                             std::int64_t layer, std::int64_t budget) {
  const c10::AutoGradMode no_gradient(false);
  std::vector<Alignment> result(pairs.size());
  Forced forced;
  const auto flush = [&] {
    if (forced.numbers.empty()) return;
    std::vector<at::Tensor> sums;
    for (const Translator* translator : translators) {
      std::vector<at::Tensor> own = attention_of(*translator, forced, layer);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] + own[i];
      if (sums.empty()) sums = std::move(own);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      result[forced.numbers[i]] = alignment_of(sums[i]);
    }
    forced = {};
  };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].target.empty() || pairs[i].source.size() < 2) continue;
    const auto together = std::ssize(forced.target_ids) + std::ssize(pairs[i].target);
    if (together > budget) flush();
    forced.add(pairs[i], tokens.target.begin, i);
  }
  flush();
  return result;
}

}  // namespace roformer
