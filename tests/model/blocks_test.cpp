// The blocks of present-day models (RMSNorm, gates, grouped heads, norms of heads, parallel
// residuals) against a stack written out plainly.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <map>

#include "catch.h"
#include "distance.h"
#include "model/heads.h"
#include "model/plain_stack.h"
#include "model/small_translator.h"
#include "model/transformer_stack.h"

using namespace roformer;

namespace {

// Of gradients in bf16: eight bits of mantissa through two layers, whose small embeddings RMSNorm
// makes three times as large. A wrong term is an error of about 1.
constexpr double kNarrow = 0.2;

struct Blocks {
  std::string name;
  std::function<void(ModelSettings&)> change;
};

void like_llama(ModelSettings& model) {
  model.norm = NormPlacement::pre;
  model.norm_kind = NormKind::rms_norm;
  model.bias = false;
  model.activation = ActivationKind::swiglu;
  model.key_value_heads = 2;
}

const std::vector<Blocks>& blocks() {
  static const std::vector<Blocks> all = {
      {"RMSNorm before",
       [](ModelSettings& model) {
         model.norm = NormPlacement::pre;
         model.norm_kind = NormKind::rms_norm;
         model.bias = false;
       }},
      {"RMSNorm after the sum",
       [](ModelSettings& model) {
         model.norm_kind = NormKind::rms_norm;
         model.bias = false;
       }},
      {"LayerNorm without bias", [](ModelSettings& model) { model.bias = false; }},
      {"swiglu", [](ModelSettings& model) { model.activation = ActivationKind::swiglu; }},
      {"geglu",
       [](ModelSettings& model) {
         model.norm = NormPlacement::pre;
         model.activation = ActivationKind::geglu;
         model.bias = false;
       }},
      {"two heads of keys", [](ModelSettings& model) { model.key_value_heads = 2; }},
      {"one head of keys", [](ModelSettings& model) { model.key_value_heads = 1; }},
      {"wider heads", [](ModelSettings& model) { model.head_width = 6; }},
      {"norms of queries and keys", [](ModelSettings& model) { model.query_key_norm = true; }},
      {"parallel residual (GPT-NeoX)",
       [](ModelSettings& model) {
         model.norm = NormPlacement::pre;
         model.parallel_residual = true;
       }},
      {"a norm of the embedding",
       [](ModelSettings& model) {
         model.norm = NormPlacement::pre;
         model.embedding_norm = true;
       }},
      {"no norm before the first layer",
       [](ModelSettings& model) {
         model.norm = NormPlacement::pre;
         model.first_norm = false;
       }},
      {"ModernBERT",
       [](ModelSettings& model) {
         model.norm = NormPlacement::pre;
         model.bias = false;
         model.activation = ActivationKind::geglu;
         model.embedding_norm = true;
         model.first_norm = false;
       }},
      {"Llama", like_llama},
      {"Qwen 2",
       [](ModelSettings& model) {
         like_llama(model);
         model.query_key_value_bias = true;
       }},
      {"Llama with biases and a gelu_tanh gate",
       [](ModelSettings& model) {
         like_llama(model);
         model.query_key_value_bias = model.attention_output_bias = true;
         model.feed_forward_bias = true;
         model.activation = ActivationKind::geglu_tanh;
       }},
      {"Qwen 3",
       [](ModelSettings& model) {
         like_llama(model);
         model.query_key_norm = true;
         model.head_width = 6;
       }},
  };
  return all;
}

StackSettings small_stack(const std::function<void(ModelSettings&)>& change) {
  StackSettings settings;
  settings.model = {.layers = 2, .width = 16, .heads = 4, .feed_forward = 24, .vocabulary = 50};
  settings.model.initialization = 0.3;
  settings.model.norm_epsilon = 1e-5;
  settings.model.dropout = 0;
  settings.attention.dropout = 0;
  settings.position.scheme = "rope";
  settings.causal = true;
  settings.training_length = 32;
  if (change) change(settings.model);
  return settings;
}

// What starts at zero or at one would hide mistakes.
void disturb(ParameterStore& parameters) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
  for (const Parameter& parameter : parameters.all()) {
    at::Tensor value = parameter.value.detach();
    value.add_(0.1 * at::randn(value.sizes(), generator, value.options()));
  }
  parameters.apply_constraints();
}

at::Tensor some_ids(std::int64_t count) {
  at::manual_seed(3);
  return at::randint(50, {count}, at::kLong);
}

// Error of the states or of a parameter's gradient, the largest: the length of the difference as a
// share of the right one's.
double worst_error(const StackSettings& settings, at::ScalarType type, Precision precision) {
  constexpr std::int64_t kTexts = 3, kLength = 7;
  ParameterStore parameters(1, type);
  const TransformerStack stack(settings, parameters);
  disturb(parameters);
  parameters.flatten();
  std::map<std::string, at::Tensor> leaves;
  for (const Parameter& parameter : parameters.all()) {
    leaves[parameter.spec.name] = parameter.value.detach().to(at::kDouble).clone().requires_grad_();
  }
  const PlainStack plain(settings, [&](const std::string& name) {
    const auto found = leaves.find(name);
    return found == leaves.end() ? at::Tensor() : found->second;
  });
  const at::Tensor ids = some_ids(kTexts * kLength);
  const at::Tensor slopes = at::randn({kTexts * kLength, settings.model.width}, at::kDouble);
  parameters.zero_gradients();
  const at::Tensor got = stack.forward(
      {.ids = ids, .layout = TokenLayout::uniform(kTexts, kLength), .precision = precision});
  (got.to(at::kDouble) * slopes).sum().backward();
  const at::Tensor wanted = plain.forward(ids.view({kTexts, kLength})).flatten(0, 1);
  (wanted * slopes).sum().backward();
  const auto error = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a.to(at::kDouble) - b).norm() / b.norm()).item<double>();
  };
  double worst = error(got, wanted);
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor& leaf = leaves.at(parameter.spec.name);
    REQUIRE(leaf.grad().defined());
    REQUIRE(leaf.grad().abs().max().item<double>() > 1e-6);
    worst = std::max(worst, error(parameter.value.grad(), leaf.grad()));
  }
  return worst;
}

}  // namespace

TEST_CASE("each block of present-day models equals its plain composition, forward and backward") {
  for (const Blocks& block : blocks()) {
    DYNAMIC_SECTION(block.name) {
      const StackSettings settings = small_stack(block.change);
      CHECK(worst_error(settings, at::kDouble, Precision::fp32) < 1e-10);
      CHECK(worst_error(settings, at::kFloat, Precision::fp32) < 2e-5);
      CHECK(worst_error(settings, at::kFloat, Precision::bf16) < kNarrow);
    }
  }
}

TEST_CASE("the form of attention that keeps its scores has the same blocks") {
  for (const Blocks& block : blocks()) {
    DYNAMIC_SECTION(block.name) {
      // A factor of one for every text of up to 1024 tokens.
      StackSettings settings = small_stack(block.change);
      settings.attention.log_n = LogNScaling::query;
      settings.attention.log_n_length = 1024;
      CHECK(worst_error(settings, at::kDouble, Precision::fp32) < 1e-10);
      CHECK(worst_error(settings, at::kFloat, Precision::bf16) < kNarrow);
    }
  }
}

namespace {

struct SmallStack {
  SmallStack(const StackSettings& settings)
      : parameters(1, at::kDouble), stack(settings, parameters) {
    disturb(parameters);
    parameters.flatten();
  }
  ParameterStore parameters;
  TransformerStack stack;
};

// Rows of queries, keys and values where each of two heads of keys and values stands twice.
at::Tensor copied_heads(const at::Tensor& packed, std::int64_t width) {
  const auto parts = packed.split_with_sizes({4 * width, 2 * width, 2 * width}, 0);
  const auto twice = [&](const at::Tensor& part) {
    return part.unflatten(0, {2, width}).repeat_interleave(2, 0).flatten(0, 1);
  };
  return at::cat({parts[0], twice(parts[1]), twice(parts[2])}, 0);
}
at::Tensor summed_heads(const at::Tensor& packed, std::int64_t width) {
  const auto parts = packed.split_with_sizes({4 * width, 4 * width, 4 * width}, 0);
  const auto sum = [&](const at::Tensor& part) {
    return part.unflatten(0, {2, 2, width}).sum(1).flatten(0, 1);
  };
  return at::cat({parts[0], sum(parts[1]), sum(parts[2])}, 0);
}

StackSettings of_scheme(const std::string& scheme, std::int64_t key_value_heads) {
  StackSettings settings = small_stack([&](ModelSettings& model) {
    model.key_value_heads = key_value_heads;
    model.query_key_norm = true;
  });
  settings.position.scheme = scheme;
  fit_to(settings.position, {.length = 64});
  return settings;
}

void compare_with_copies(const StackSettings& grouped, const StackSettings& whole) {
  const SmallStack few(grouped), many(whole);
  for (const Parameter& parameter : many.parameters.all()) {
    const at::Tensor& own = few.parameters.find(parameter.spec.name)->value;
    const bool heads = parameter.spec.name.find("query_key_value") != std::string::npos;
    at::Tensor value = parameter.value.detach();
    value.copy_(heads ? copied_heads(own.detach(), 4) : own.detach());
  }
  const std::vector<std::int64_t> lengths{9, 9, 6};
  const at::Tensor ids = some_ids(24), slopes = at::randn({24, 16}, at::kDouble);
  std::vector<at::Tensor> states;
  for (const SmallStack* small : {&few, &many}) {
    const_cast<SmallStack*>(small)->parameters.zero_gradients();
    states.push_back(
        small->stack.forward({.ids = ids, .layout = TokenLayout::of_lengths(lengths)}));
    (states.back() * slopes).sum().backward();
  }
  CHECK(distance(states[0], states[1]) < 1e-11);
  for (const Parameter& parameter : few.parameters.all()) {
    CAPTURE(parameter.spec.name);
    if (parameter.spec.fixed) continue;
    at::Tensor wanted = many.parameters.find(parameter.spec.name)->value.grad();
    if (parameter.spec.name.find("query_key_value") != std::string::npos) {
      wanted = summed_heads(wanted, 4);
    }
    CHECK(distance(parameter.value.grad(), wanted) < 1e-10);
  }
}

}  // namespace

TEST_CASE("shared heads of keys and values are copied ones, under every scheme") {
  for (const std::string& name : position_names()) {
    DYNAMIC_SECTION(name) {
      compare_with_copies(of_scheme(name, 2), of_scheme(name, 4));
    }
  }
}

TEST_CASE("shared heads of keys and values are copied ones in linear attention") {
  const auto kernel = GENERATE(AttentionKernel::elu, AttentionKernel::favor);
  StackSettings grouped = of_scheme("rope", 2), whole = of_scheme("rope", 4);
  for (StackSettings* settings : {&grouped, &whole}) {
    settings->attention.kernel = kernel;
    settings->attention.features = 8;
  }
  compare_with_copies(grouped, whole);
}

TEST_CASE("a step of decoding with shared heads gives the whole text's states, and keeps no copy") {
  const at::NoGradGuard no_gradient;
  for (const std::string& name : position_names()) {
    DYNAMIC_SECTION(name) {
      StackSettings settings = of_scheme(name, 2);
      settings.model.norm = NormPlacement::pre;
      settings.model.parallel_residual = true;
      settings.model.activation = ActivationKind::swiglu;
      const SmallStack small(settings);
      if (!small.stack.can_cache()) continue;
      const at::Tensor ids = some_ids(12);
      const at::Tensor whole =
          small.stack.forward({.ids = ids, .layout = TokenLayout::uniform(1, 12)});
      AttentionCache cache;
      std::vector<at::Tensor> steps;
      for (std::int64_t begin = 0; begin < 12; begin += steps.size() == 1 ? 5 : 1) {
        const std::int64_t count = begin == 0 ? 5 : 1;
        steps.push_back(small.stack.forward({.ids = ids.narrow(0, begin, count),
                                             .layout = TokenLayout::uniform(1, count),
                                             .cache = &cache}));
      }
      CHECK(distance(at::cat(steps, 0), whole) < 1e-10);
      // Keys that a scheme rotates or changes head by head stand apart.
      const PositionScheme& scheme = small.stack.scheme().of_layer(1);
      if (scheme.capabilities().transform || scheme.capabilities().changes_keys) continue;
      const at::Tensor nothing = at::empty({1, 2, 0, 4}, at::kDouble);
      CHECK(cache.append(1, {.key = nothing, .value = nothing}).value.size(1) == 2);
    }
  }
}

TEST_CASE("a language head is the projection alone where that is asked for") {
  const bool tied = GENERATE(true, false);
  StackSettings settings = small_stack(like_llama);
  settings.model.head = LanguageHeadKind::linear;
  settings.model.tie_output = tied;
  ParameterStore parameters(1, at::kDouble);
  const TransformerStack stack(settings, parameters);
  const LanguageHead head(stack, parameters);
  parameters.flatten();
  CHECK(parameters.find("head.dense.weight") == nullptr);
  CHECK(parameters.find("head.decoder.bias") == nullptr);
  CHECK((parameters.find("head.decoder.weight") == nullptr) == tied);
  const std::string name = tied ? "embedding.tokens.weight" : "head.decoder.weight";
  const at::Tensor& table = parameters.find(name)->value;
  const at::Tensor states = at::randn({6, 16}, at::kDouble).requires_grad_();
  const at::Tensor labels = some_ids(6);
  parameters.zero_gradients();
  head.loss(states, labels).loss_sum.backward();
  const at::Tensor from_states = states.grad().clone(), from_table = table.grad().clone();
  states.mutable_grad() = at::Tensor();
  const at::Tensor leaf = table.detach().clone().requires_grad_();
  const at::Tensor logits = at::matmul(states, leaf.t());
  at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).backward();
  CHECK(distance(head.logits(states), logits) < 1e-12);
  CHECK(distance(from_states, states.grad()) < 1e-11);
  CHECK(distance(from_table, leaf.grad()) < 1e-11);
}

TEST_CASE("BERT's head has an untied table and no biases where that is asked for") {
  StackSettings settings = small_stack(nullptr);
  settings.model.bias = false;
  settings.model.tie_output = false;
  settings.model.activation = ActivationKind::geglu;
  ParameterStore parameters(1, at::kDouble);
  const TransformerStack stack(settings, parameters);
  const LanguageHead head(stack, parameters);
  disturb(parameters);
  parameters.flatten();
  CHECK(parameters.find("head.dense.bias") == nullptr);
  CHECK(parameters.find("head.norm.bias") == nullptr);
  const auto weight = [&](const char* name) { return parameters.find(name)->value.detach(); };
  const at::Tensor states = at::randn({6, 16}, at::kDouble);
  const at::Tensor hidden =
      at::layer_norm(at::gelu(at::matmul(states, weight("head.dense.weight").t())), {16},
                     weight("head.norm.weight"), {}, settings.model.norm_epsilon);
  const at::Tensor logits =
      at::matmul(hidden, weight("head.decoder.weight").t()) + weight("head.decoder.bias");
  CHECK(distance(head.logits(states), logits) < 1e-12);
}

TEST_CASE("present-day keys left alone name and fill the parameters as ever") {
  ParameterStore parameters(7);
  const TransformerStack stack(small_stack(nullptr), parameters);
  const LanguageHead head(stack, parameters);
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.spec.name.starts_with("layers.1.")) names.push_back(parameter.spec.name);
  }
  CHECK(names == std::vector<std::string>{"embedding.tokens.weight",
                                          "embedding.norm.weight",
                                          "embedding.norm.bias",
                                          "layers.0.attention.query_key_value.weight",
                                          "layers.0.attention.query_key_value.bias",
                                          "layers.0.attention.output.weight",
                                          "layers.0.attention.output.bias",
                                          "layers.0.attention.norm.weight",
                                          "layers.0.attention.norm.bias",
                                          "layers.0.feed_forward.inner.weight",
                                          "layers.0.feed_forward.inner.bias",
                                          "layers.0.feed_forward.outer.weight",
                                          "layers.0.feed_forward.outer.bias",
                                          "layers.0.feed_forward.norm.weight",
                                          "layers.0.feed_forward.norm.bias",
                                          "head.dense.weight",
                                          "head.dense.bias",
                                          "head.norm.weight",
                                          "head.norm.bias",
                                          "head.decoder.bias"});
}
