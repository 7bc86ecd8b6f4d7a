// A training that computes its layers again in the backward pass is bitwise the one that keeps all.
#include "tensor/gradient.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <vector>

#include "catch.h"
#include "config/schemes/layers.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "small_translator.h"
#include "tensor/profile.h"

using namespace roformer;

namespace {

struct RecomputedStack {
  bool causal = false;
  NormPlacement norm = NormPlacement::post;
  Precision precision = Precision::fp32;
  double attention_dropout = 0;
  bool parallel = false;

  StackSettings settings(const std::string& scheme, Recomputation recompute) const {
    StackSettings settings;
    settings.model = {.layers = 3, .width = 16, .heads = 2, .feed_forward = 24, .vocabulary = 50};
    settings.model.norm = norm;
    settings.model.initialization = 0.3;
    settings.model.dropout = 0.1;
    settings.model.parallel_residual = parallel;
    settings.attention.dropout = attention_dropout;
    settings.position.scheme = scheme;
    settings.causal = causal || find_position_facts(scheme)->causal_only;
    fit_to(settings.position, {.length = 64, .causal = settings.causal});
    settings.training_length = 32;
    settings.recompute = recompute;
    return settings;
  }

  // The loss of two micro-batches and the flat gradient, with texts of different lengths.
  std::vector<at::Tensor> operator()(const std::string& scheme, Recomputation recompute) const {
    ParameterStore parameters(1);
    const TransformerStack stack(settings(scheme, recompute), parameters);
    const LanguageHead head(stack, parameters);
    parameters.flatten();
    const TokenLayout layout = TokenLayout::of_lengths(std::vector<std::int64_t>{9, 9, 5, 14});
    at::manual_seed(2);
    std::vector<at::Tensor> results;
    for (std::uint64_t key = 1; key < 3; ++key) {
      const at::Tensor states =
          stack.forward({.ids = at::randint(50, {layout.tokens}, at::kLong),
                         .layout = TokenLayout(layout),
                         .rows = at::tensor({1, 4, 12, 20, 30, 36}, at::kLong),
                         .training = true,
                         .dropout_key = key,
                         .feature_key = 3,
                         .precision = precision});
      const at::Tensor loss = head.loss(states, at::tensor({9, 8, 7, 6, 5, 4}, at::kLong)).loss_sum;
      loss.backward();
      results.push_back(loss.detach());
    }
    results.push_back(parameters.flat_gradients().clone());
    return results;
  }

  void check(const std::string& scheme) const {
    const std::vector<at::Tensor> kept = (*this)(scheme, Recomputation::none);
    for (const Recomputation recompute : {Recomputation::layer, Recomputation::attention}) {
      const std::vector<at::Tensor> again = (*this)(scheme, recompute);
      INFO(scheme << (recompute == Recomputation::layer ? ", layer" : ", attention")
                  << (causal ? ", causal" : "")
                  << (precision == Precision::bf16 ? ", bf16" : ", fp32"));
      REQUIRE(kept.back().abs().max().item<double>() > 0);
      for (std::size_t i = 0; i < kept.size(); ++i) CHECK(at::equal(kept[i], again[i]));
    }
  }
};

}  // namespace

TEST_CASE("layers that are computed again give bitwise what kept ones give, under every scheme") {
  for (const std::string& name : position_names()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      const bool causal = precision == Precision::bf16;
      RecomputedStack{.causal = causal, .precision = precision}.check(name);
    }
  }
}

TEST_CASE("pre-norm, parallel residuals and dropped probabilities are computed again alike") {
  for (const char* name : {"rope", "t5", "deberta"}) {
    RecomputedStack{.norm = NormPlacement::pre}.check(name);
    RecomputedStack{.norm = NormPlacement::pre, .parallel = true}.check(name);
    RecomputedStack{.attention_dropout = 0.2}.check(name);
  }
}

TEST_CASE("a translator whose layers are computed again trains bitwise alike") {
  const auto trained = [](const std::string& scheme, Recomputation recompute) {
    const SmallTranslator small(scheme, [&](EncoderDecoderSettings& settings) {
      for (StackSettings* stack : {&settings.encoder, &settings.decoder}) {
        stack->recompute = recompute;
        stack->model.dropout = 0.1;
      }
    });
    const TokenLayout source = TokenLayout::of_lengths(std::vector<std::int64_t>{7, 4, 9});
    const TokenLayout target = TokenLayout::of_lengths(std::vector<std::int64_t>{5, 6, 8});
    at::manual_seed(4);
    const auto ids = [](const TokenLayout& layout) {
      return at::randint(SmallTranslator::kVocabulary, {layout.tokens}, at::kLong);
    };
    const at::Tensor states = small.model->forward(
        {.source_ids = ids(source), .source = source, .target_ids = ids(target), .target = target},
        {.training = true, .dropout_key = 5});
    (states * at::randn(states.sizes(), states.options())).sum().backward();
    return std::vector<at::Tensor>{states.detach(), small.parameters.flat_gradients().clone()};
  };
  for (const char* name : {"rope", "t5", "shaw", "sinusoidal"}) {
    const auto kept = trained(name, Recomputation::none);
    for (const Recomputation recompute : {Recomputation::layer, Recomputation::attention}) {
      const auto again = trained(name, recompute);
      INFO(name);
      CHECK(at::equal(kept[0], again[0]));
      CHECK(at::equal(kept[1], again[1]));
    }
  }
}

TEST_CASE("what is computed again takes no memory meanwhile") {
  const auto peak = [](Recomputation recompute) {
    StackSettings settings;
    settings.model = {.layers = 8, .width = 32, .heads = 4, .feed_forward = 128, .vocabulary = 50};
    settings.position.scheme = "alibi";
    settings.training_length = 256;
    settings.recompute = recompute;
    ParameterStore parameters(1);
    const TransformerStack stack(settings, parameters);
    parameters.flatten();
    const TokenLayout layout = TokenLayout::uniform(4, 256);
    const at::Tensor ids = at::zeros({layout.tokens}, at::kLong);
    const MemoryMeter meter;
    stack.forward({.ids = ids, .layout = layout, .training = true}).sum().backward();
    return static_cast<double>(meter.peak());
  };
  const double all = peak(Recomputation::none);
  CHECK(peak(Recomputation::layer) < 0.35 * all);
  CHECK(peak(Recomputation::attention) < 0.8 * all);
}

TEST_CASE("a parameter that several recomputed layers share gets its gradient once") {
  struct Count : torch::autograd::PostAccumulateGradHook {
    std::int64_t& calls;
    explicit Count(std::int64_t& all) : calls(all) {}
    void operator()(const at::Tensor&) override { ++calls; }
  };
  for (const char* name : {"t5", "tupe", "deberta", "transformer_xl", "rope"}) {
    ParameterStore parameters(1);
    const TransformerStack stack(RecomputedStack{}.settings(name, Recomputation::layer),
                                 parameters);
    parameters.flatten();
    std::vector<std::int64_t> calls(parameters.all().size(), 0);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      torch::autograd::impl::set_post_acc_grad_hooks(parameters.all()[i].value,
                                                     std::make_unique<Count>(calls[i]));
    }
    const TokenLayout layout = TokenLayout::uniform(2, 12);
    stack.forward({.ids = at::zeros({24}, at::kLong), .layout = layout, .training = true})
        .sum()
        .backward();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      INFO(name << ", " << parameters.all()[i].spec.name);
      CHECK(calls[i] <= 1);
      if (parameters.all()[i].spec.name.starts_with("position.")) CHECK(calls[i] == 1);
    }
  }
}
