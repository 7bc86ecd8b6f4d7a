// A translator of random weights that fits a test, and sentences for it. Ids: 0 padding, 1 unknown,
// 2 begin, 3 end, 4 and more the words of both sides.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"
#include "tasks/translation/translation_search.h"
#include "tasks/translation/translator.h"

namespace roformer {

struct RandomTranslator {
  static constexpr std::int64_t kVocabulary = 24;
  static constexpr std::int64_t kBegin = 2, kEnd = 3;

  Settings settings;
  Translator translator;
  TranslationTokens tokens{.target = {.begin = kBegin, .end = kEnd},
                           .excluded = {0, 1, kBegin},
                           .vocabulary = kVocabulary};

  explicit RandomTranslator(const std::string& scheme, std::vector<Override> more = {},
                            const ComputePlan& plan = {})
      : settings(default_settings(keys(scheme, std::move(more)))),
        translator(settings, {.source = kVocabulary, .target = kVocabulary}, plan) {
    // What starts at zero or alike would hide mistakes.
    const at::NoGradGuard no_gradient;
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
    at::Tensor values = translator.parameters().flat_values();
    values.add_(0.1 * at::randn(values.sizes(), generator, values.options()));
    translator.parameters().apply_constraints();
  }

  std::vector<std::vector<Hypothesis>> translate(const std::vector<std::vector<TokenId>>& sources,
                                                 const TranslationOptions& options) const {
    return roformer::translate({&translator}, sources, tokens, options);
  }

  // Of all positions after the texts, from the whole of them at once: [T, V].
  at::Tensor logits(const std::vector<TokenId>& source,
                    const std::vector<std::int64_t>& target) const {
    const at::NoGradGuard no_gradient;
    const std::vector<std::int64_t> wide(source.begin(), source.end());
    const at::Tensor states =
        translator.model().forward({.source_ids = at::tensor(wide, at::kLong),
                                    .source = TokenLayout::uniform(1, std::ssize(wide)),
                                    .target_ids = at::tensor(target, at::kLong),
                                    .target = TokenLayout::uniform(1, std::ssize(target))},
                                   {});
    return translator.model().logits(states);
  }

  // Sentences of these lengths, the end counted.
  static std::vector<std::vector<TokenId>> sentences(const std::vector<std::int64_t>& lengths) {
    std::vector<std::vector<TokenId>> result;
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(5);
    for (const std::int64_t length : lengths) {
      const at::Tensor ids = at::randint(4, kVocabulary, {length}, generator, at::kLong);
      const std::int64_t* const data = ids.const_data_ptr<std::int64_t>();
      result.emplace_back(data, data + length);
      result.back().back() = kEnd;
    }
    return result;
  }

 private:
  static std::vector<Override> keys(const std::string& scheme, std::vector<Override> more) {
    std::vector<Override> all = {{"task", "translation"},
                                 {"data.length", "32"},
                                 {"model.layers", "2"},
                                 {"model.width", "32"},
                                 {"model.heads", "2"},
                                 {"model.feed_forward", "32"},
                                 {"model.dropout", "0"},
                                 {"model.initialization", "0.3"},
                                 {"training.precision", "fp32"},
                                 {"decoding.beam", "3"},
                                 {"decoding.longest_extra", "6"},
                                 {"position", scheme}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

}  // namespace roformer
