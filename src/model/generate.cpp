#include "model/generate.h"

#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "model/sample_texts.h"

namespace roformer {

std::vector<std::vector<std::int64_t>> generate(StepModel& model,
                                                const std::vector<std::int64_t>& prompt,
                                                const GenerationOptions& options) {
  ROFORMER_ASSERT(!prompt.empty() && options.samples > 0);
  SampledBeginning beginning{.text = {.begin = prompt, .longest = options.tokens}};
  for (std::int64_t i = 0; i < options.samples; ++i) {
    const auto number = static_cast<std::uint64_t>(options.first_sample + i);
    beginning.keys.push_back(random_key({options.seed, number}));
  }
  SampleSettings settings{
      .choice = options.sampling, .always_ends = false, .other_ends = options.ends};
  if (options.on_token) {
    settings.on_token = [&](std::int64_t, std::int64_t sample, std::int64_t id) {
      options.on_token(sample, id);
    };
  }
  std::vector<std::vector<std::int64_t>> texts;
  auto samples = sample_texts(model, {beginning},
                              {.excluded = options.excluded, .size = options.vocabulary}, settings);
  for (Hypothesis& sample : samples[0]) {
    texts.push_back(std::move(sample.ids));
  }
  return texts;
}

}  // namespace roformer
