// A language model's weights prepared for generation.
#include "tasks/language/language_model.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "catch.h"
#include "config/load.h"
#include "model/next_token.h"

using namespace roformer;

TEST_CASE("a generator multiplies by its prepared weights and by no others") {
  if (!InferenceWeights::available(WeightForm::bf16)) return;
  const Settings settings = default_settings({{"task", "causal_lm"},
                                              {"data.length", "32"},
                                              {"model.layers", "2"},
                                              {"model.width", "32"},
                                              {"model.embedding_width", "16"},
                                              {"model.heads", "2"},
                                              {"model.feed_forward", "32"}});
  const LanguageModel model(settings, 20, {.precision = Precision::bf16});
  const auto logits = [&] {
    NextToken next({.stack = model.encoder(), .head = model.head(), .precision = Precision::bf16});
    const at::Tensor ids = at::arange(6, at::kLong).view({2, 3});
    return at::cat({next.append(ids), next.append(ids.narrow(1, 0, 1))});
  };
  const c10::AutoGradMode no_gradient(false);
  const at::Tensor plain = logits();
  InferenceWeights weights;
  model.add_to(weights);
  const InferenceWeights::Use use(&weights);
  const at::Tensor prepared = logits();
  CHECK(at::allclose(prepared, plain, 0.02, 0.02));
  for (const Parameter& parameter : model.parameters().all()) {
    at::Tensor value = parameter.value;
    if (parameter.spec.projects) value.zero_();
  }
  CHECK(at::equal(logits(), prepared));
  const InferenceWeights::Use none(nullptr);
  CHECK_FALSE(at::equal(logits(), prepared));
}

TEST_CASE("a generator in fp32 prepares nothing") {
  const Settings settings = default_settings({{"task", "causal_lm"}, {"model.layers", "1"}});
  const LanguageModel model(settings, 20, {});
  InferenceWeights weights;
  model.add_to(weights);
  CHECK(weights.size() == 0);
}
