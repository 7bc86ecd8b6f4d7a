#include "decoding/generate.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/random.h"

namespace roformer {

std::vector<std::vector<std::int64_t>> generate(const NextToken::Parts& model,
                                                const std::vector<std::int64_t>& prompt,
                                                const GenerationOptions& options) {
  ROFORMER_ASSERT(!prompt.empty() && options.samples > 0);
  const at::Device device = model.encoder.token_table().device();
  const auto samples = static_cast<std::size_t>(options.samples);
  NextToken next(model);
  std::vector<std::vector<std::int64_t>> texts(samples);
  std::vector<Random> random;
  for (std::size_t i = 0; i < samples; ++i) random.emplace_back(random_key({options.seed, i}));
  std::vector<bool> ended(samples, false);
  at::Tensor ids =
      at::tensor(prompt, at::kLong).unsqueeze(0).expand({options.samples, -1}).to(device);
  for (std::int64_t step = 0; step < options.tokens; ++step) {
    const at::Tensor logits = next.append(ids).to(at::kCPU, at::kFloat).contiguous();
    const std::int64_t width = logits.size(1);
    const auto count = static_cast<std::size_t>(
        options.vocabulary > 0 ? std::min(options.vocabulary, width) : width);
    float* const data = logits.mutable_data_ptr<float>();
    std::vector<std::int64_t> chosen(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const std::span<float> row(data + static_cast<std::int64_t>(i) * width, count);
      for (const std::int64_t id : options.excluded) {
        if (id >= 0 && id < static_cast<std::int64_t>(count)) {
          row[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
        }
      }
      // A text that has ended is computed on with the others and dropped.
      chosen[i] = pick(candidates(row, options.sampling), random[i].uniform());
      if (chosen[i] == options.end) ended[i] = true;
      if (ended[i]) continue;
      texts[i].push_back(chosen[i]);
      if (options.on_token) options.on_token(static_cast<std::int64_t>(i), chosen[i]);
    }
    if (std::find(ended.begin(), ended.end(), false) == ended.end()) break;
    ids = at::tensor(chosen, at::kLong).unsqueeze(1).to(device);
  }
  return texts;
}

}  // namespace roformer
