// A translator that fits a test.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/position_facts.h"
#include "model/encoder_decoder.h"

namespace roformer {

struct SmallTranslator {
  static constexpr std::int64_t kVocabulary = 40;

  static EncoderDecoderSettings settings(const std::string& scheme) {
    StackSettings encoder;
    encoder.model = {
        .layers = 2, .width = 16, .heads = 2, .feed_forward = 24, .vocabulary = kVocabulary};
    encoder.model.initialization = 0.3;
    encoder.position.scheme = scheme;
    fit_to(encoder.position, {.length = 64});
    encoder.training_length = 32;
    StackSettings decoder = encoder;
    decoder.causal = decoder.cross_attention = true;
    return {.encoder = encoder, .decoder = decoder};
  }

  explicit SmallTranslator(const std::string& scheme,
                           const std::function<void(EncoderDecoderSettings&)>& change = {})
      : parameters(3, at::kDouble) {
    EncoderDecoderSettings chosen = settings(scheme);
    if (change) change(chosen);
    model = std::make_unique<EncoderDecoder>(chosen, parameters);
    // What starts at zero or alike would hide mistakes.
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
    for (const Parameter& parameter : parameters.all()) {
      at::Tensor value = parameter.value.detach();
      value.add_(0.1 * at::randn(value.sizes(), generator, value.options()));
    }
    parameters.apply_constraints();
    parameters.flatten();
  }

  ParameterStore parameters;
  std::unique_ptr<EncoderDecoder> model;
};

// Sentences end to end.
struct Sentences {
  std::vector<std::int64_t> lengths;
  TokenLayout layout;
  at::Tensor ids;

  explicit Sentences(std::vector<std::int64_t> sizes, std::uint64_t seed = 5)
      : lengths(std::move(sizes)),
        layout(TokenLayout::of_lengths(lengths)),
        ids(at::randint(SmallTranslator::kVocabulary, {layout.tokens},
                        at::make_generator<at::CPUGeneratorImpl>(seed), at::kLong)) {}

  // The sentence at an index, alone.
  at::Tensor operator[](std::size_t index) const {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < index; ++i) begin += lengths[i];
    return ids.narrow(0, begin, lengths[index]);
  }
};

}  // namespace roformer
