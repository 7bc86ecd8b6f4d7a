// A training step by the program's own loops, by the LibTorch operations that a GPU takes in their
// place, and by the GPU's kernels run on the CPU (dispatch.h): the same losses, gradients and
// dropped numbers, whatever the model is made of.
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "catch.h"
#include "config/schemes/rerope.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/streaming.h"
#include "model/heads.h"
#include "model/transformer_stack.h"
#include "small_translator.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/emulation.h"

using namespace roformer;

namespace {

struct StepForm {
  at::ScalarType type = at::kDouble;
  Precision precision = Precision::fp32;

  // The largest distance of a result as a share of its size. In float64 what is left is the factor
  // of dropout, which the loops hold in float; one number dropped in one form alone is far more.
  double allowed() const {
    if (precision == Precision::bf16) return 0.2;  // sums of another rounding turn over a relu
    return type == at::kDouble ? 2e-6 : 1e-4;
  }
};

StackSettings settings_of(const std::string& scheme, bool causal) {
  StackSettings settings;
  settings.model = {.layers = 2, .width = 16, .heads = 4, .feed_forward = 24, .vocabulary = 50};
  settings.model.initialization = 0.3;
  settings.model.dropout = 0.1;
  settings.position.scheme = scheme;
  // Windows that end within the texts below, so that there are far pairs.
  settings.position.of<ReropeSettings>().window = 3;
  settings.position.of<SelfExtendSettings>() = {.group = 2, .window = 3};
  settings.position.of<StreamingSettings>() = {.sinks = 1, .recent = 5};
  settings.causal = causal || find_position_facts(scheme)->causal_only;
  fit_to(settings.position, {.length = 64, .causal = settings.causal});
  settings.training_length = 32;
  return settings;
}

// Loss and flat gradient of texts of different lengths.
std::vector<at::Tensor> step(const StackSettings& settings, const StepForm& form) {
  ParameterStore parameters(1, form.type);
  const TransformerStack stack(settings, parameters);
  const LanguageHead head(stack, parameters);
  parameters.flatten();
  const TokenLayout layout = TokenLayout::of_lengths(std::vector<std::int64_t>{9, 9, 5, 14});
  at::manual_seed(2);
  const at::Tensor states = stack.forward({.ids = at::randint(50, {layout.tokens}, at::kLong),
                                           .layout = layout,
                                           .rows = at::tensor({1, 4, 12, 20, 30, 36}, at::kLong),
                                           .training = true,
                                           .dropout_key = 7,
                                           .feature_key = 3,
                                           .precision = form.precision});
  const at::Tensor loss = head.loss(states, at::tensor({9, 8, 7, 6, 5, 4}, at::kLong)).loss_sum;
  loss.backward();
  return {loss.detach(), parameters.flat_gradients().clone()};
}

std::vector<at::Tensor> translator_step(const std::string& scheme, double attention_dropout) {
  const SmallTranslator small(scheme, [&](EncoderDecoderSettings& settings) {
    for (StackSettings* stack : {&settings.encoder, &settings.decoder}) {
      stack->model.dropout = 0.1;
      stack->attention.dropout = attention_dropout;
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
  return {states.detach(), small.parameters.flat_gradients().clone()};
}

template <class Step>
void compare(const Step& step, double allowed) {
  const auto check = [&](const std::vector<at::Tensor>& got,
                         const std::vector<at::Tensor>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const at::Tensor exact = wanted[i].to(at::kDouble);
      const double size = exact.norm().item<double>();
      REQUIRE(size > 0);
      CAPTURE(i);
      CHECK((got[i].to(at::kDouble) - exact).norm().item<double>() / size < allowed);
    }
  };
  const std::vector<at::Tensor> looped = step();
  {
    const ComposedForms composed_forms;
    check(step(), looped);
  }
  const gpu::KernelEmulation emulation(emulate_kernel);
  check(step(), looped);
}

}  // namespace

TEST_CASE("loops and the operations of a GPU make the same step under every scheme") {
  for (const StepForm& form : {StepForm{}, StepForm{.type = at::kFloat},
                               StepForm{.type = at::kFloat, .precision = Precision::bf16}}) {
    for (const std::string& name : position_names()) {
      for (const bool causal : {false, true}) {
        CAPTURE(name, causal, form.allowed());
        StackSettings settings = settings_of(name, causal);
        compare([&] { return step(settings, form); }, form.allowed());
        if (form.type != at::kDouble) continue;
        settings.attention.dropout = 0.2;
        compare([&] { return step(settings, form); }, form.allowed());
      }
    }
  }
}

TEST_CASE("loops and the operations of a GPU make the same step in every kind of layer") {
  using Change = void (*)(StackSettings&);
  const std::vector<Change> changes = {
      [](StackSettings& s) {
        s.model.norm = NormPlacement::pre;
        s.model.norm_kind = NormKind::rms_norm;
        s.model.bias = false;
        s.model.activation = ActivationKind::swiglu;
      },
      [](StackSettings& s) { s.model.activation = ActivationKind::geglu; },
      [](StackSettings& s) { s.model.activation = ActivationKind::geglu_tanh; },
      [](StackSettings& s) {
        s.model.bias = false;
        s.model.attention_output_bias = s.model.feed_forward_bias = true;
      },
      [](StackSettings& s) { s.model.activation = ActivationKind::relu; },
      [](StackSettings& s) { s.model.activation = ActivationKind::swish; },
      [](StackSettings& s) { s.model.activation = ActivationKind::gelu_tanh; },
      [](StackSettings& s) { s.model.key_value_heads = 2; },
      [](StackSettings& s) { s.model.query_key_norm = true; },
      [](StackSettings& s) { s.model.embedding_width = 8; },
      [](StackSettings& s) { s.attention.window = 4; },
      [](StackSettings& s) { s.attention.log_n = LogNScaling::query; },
      [](StackSettings& s) { s.attention.kernel = AttentionKernel::elu; },
      [](StackSettings& s) { s.recompute = Recomputation::layer; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const StepForm& form : {StepForm{}, StepForm{at::kFloat, Precision::bf16}}) {
      CAPTURE(i, form.allowed());
      StackSettings settings = settings_of("rope", i % 2 == 1);
      changes[i](settings);
      compare([&] { return step(settings, form); }, form.allowed());
    }
  }
}

TEST_CASE("a GPU's own attention in bfloat16 is as near to the exact step as the CPU's") {
  // One that adds nothing, biases by difference, and some with a number for each pair.
  for (const char* scheme : {"rope", "none", "t5", "alibi", "kerple", "sandwich", "fire", "tupe"}) {
    for (const bool causal : {false, true}) {
      CAPTURE(scheme, causal);
      StackSettings settings = settings_of("rope", causal);
      settings.position.scheme = scheme;
      fit_to(settings.position, {.length = 64, .causal = causal});
      settings.model.width = 64;
      settings.model.key_value_heads = causal ? 2 : 4;
      settings.model.activation = ActivationKind::gelu;
      settings.attention.window = settings.position.scheme == "rope" && causal ? 7 : 0;
      const std::vector<at::Tensor> exact = step(settings, {.type = at::kDouble});
      const StepForm form{at::kFloat, Precision::bf16};
      const std::vector<at::Tensor> looped = step(settings, form);
      int attentions = 0;
      const gpu::KernelEmulation emulation([&](const gpu::Launch& what) {
        attentions += what.kernel.starts_with("attention_key_gradient<16, ") ? 1 : 0;
        emulate_kernel(what);
      });
      const std::vector<at::Tensor> made = step(settings, form);
      CHECK(attentions == settings.model.layers);
      for (std::size_t i = 0; i < made.size(); ++i) {
        const auto error = [&](const std::vector<at::Tensor>& of) {
          return (of[i].to(at::kDouble) - exact[i]).norm().item<double>();
        };
        CAPTURE(i, error(looped), error(made), exact[i].norm().item<double>());
        CHECK(error(made) < 1.5 * error(looped) + 1e-3 * exact[i].norm().item<double>());
      }
    }
  }
}

TEST_CASE("loops and the operations of a GPU make the same step of a translator") {
  for (const char* scheme : {"rope", "none", "t5", "learned"}) {
    for (const double attention_dropout : {0.0, 0.2}) {
      CAPTURE(scheme, attention_dropout);
      compare([&] { return translator_step(scheme, attention_dropout); }, 2e-6);
    }
  }
}
