#include "decoding/generate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace roformer {

namespace {

// The logits that may be chosen from: without what stands for nothing and what is excluded.
std::span<float> open_choices(std::span<float> logits, const GenerationOptions& options) {
  const auto size = static_cast<std::int64_t>(logits.size());
  const std::int64_t count = options.vocabulary > 0 ? std::min(options.vocabulary, size) : size;
  for (const std::int64_t id : options.excluded) {
    if (id >= 0 && id < count) {
      logits[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
  }
  return logits.first(static_cast<std::size_t>(count));
}

}  // namespace

std::vector<std::vector<std::int64_t>> generate(StepModel& model,
                                                const std::vector<std::int64_t>& prompt,
                                                const GenerationOptions& options) {
  ROFORMER_ASSERT(!prompt.empty() && options.samples > 0);
  std::vector<std::vector<std::int64_t>> texts(static_cast<std::size_t>(options.samples));
  std::vector<Random> random;
  for (std::size_t i = 0; i < texts.size(); ++i) random.emplace_back(random_key({options.seed, i}));
  std::vector<std::size_t> samples{0};  // that the model's rows stand for; the prompt is all one
  at::Tensor ids = at::tensor(prompt, at::kLong).unsqueeze(0);
  for (std::int64_t step = 0; step < options.tokens && !samples.empty(); ++step) {
    at::Tensor logits = model.append(ids).to(at::kCPU, at::kFloat).contiguous();
    if (step == 0 && options.samples > 1) {
      const std::vector<std::int64_t> first(texts.size(), 0);
      model.reorder(first);
      logits = logits.expand({options.samples, -1}).clone();
      samples.resize(texts.size());
      std::iota(samples.begin(), samples.end(), 0);
    }
    const auto width = static_cast<std::size_t>(logits.size(1));
    float* const data = logits.mutable_data_ptr<float>();
    std::vector<std::int64_t> chosen, rows;
    std::vector<std::size_t> open;
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const std::size_t sample = samples[row];
      const std::span<float> choices = open_choices({data + row * width, width}, options);
      const std::int64_t id = pick(candidates(choices, options.sampling), random[sample].uniform());
      if (id == options.end) continue;  // the text leaves the model
      texts[sample].push_back(id);
      if (options.on_token) options.on_token(static_cast<std::int64_t>(sample), id);
      chosen.push_back(id);
      rows.push_back(static_cast<std::int64_t>(row));
      open.push_back(sample);
    }
    if (rows.size() < samples.size() && !rows.empty()) model.reorder(rows);
    samples = std::move(open);
    ids = at::tensor(chosen, at::kLong).unsqueeze(1);
  }
  return texts;
}

}  // namespace roformer
