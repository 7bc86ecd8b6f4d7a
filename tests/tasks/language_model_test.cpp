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
  model.add_to(weights, weight_form(model.plan().precision));
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

TEST_CASE("a generator in fp32 reads its weights where they are, by other sums") {
  const Settings settings = default_settings({{"task", "causal_lm"},
                                              {"data.length", "32"},
                                              {"model.layers", "2"},
                                              {"model.width", "36"},
                                              {"model.heads", "2"},
                                              {"model.feed_forward", "50"}});
  const LanguageModel model(settings, 20, {});
  const c10::AutoGradMode no_gradient(false);
  const auto logits = [&](std::int64_t texts) {
    NextToken next({.stack = model.encoder(), .head = model.head()});
    const at::Tensor ids = at::arange(18, at::kLong).view({6, 3}).narrow(0, 0, texts);
    return at::cat({next.append(ids), next.append(ids.narrow(1, 0, 1))}, 1);
  };
  const at::Tensor plain = logits(6);
  InferenceWeights weights;
  model.add_to(weights, WeightForm::fp32);
  CHECK(weights.size() > 8);
  const InferenceWeights::Use use(&weights);
  const at::Tensor in_place = logits(6);
  CHECK(at::allclose(in_place, plain, 1e-4, 1e-5));
  CHECK(at::allclose(logits(1), in_place.narrow(0, 0, 1), 1e-4, 1e-5));
}
