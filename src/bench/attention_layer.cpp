#include "bench/attention_layer.h"

#include <c10/core/GradMode.h>

#include "analysis/reference_attention.h"
#include "attention/self_attention.h"
#include "base/error.h"
#include "bench/timing.h"
#include "config/check.h"
#include "tensor/aten.h"
#include "tensor/operations.h"
#include "tensor/profile.h"

namespace roformer {

AttentionLayers::AttentionLayers(const Settings& settings, std::int64_t layers,
                                 const ComputePlan& plan)
    : settings_(settings), plan_(plan), parameters_(settings.seed, at::kFloat, plan.device) {
  const std::int64_t width = settings.model.width;
  const auto add = [&](std::int64_t layer, const char* name, std::vector<std::int64_t> shape,
                       Initializer initial) {
    return parameters_.add({.name = "layers." + std::to_string(layer) + ".attention." + name,
                            .shape = std::move(shape),
                            .initial = std::move(initial)});
  };
  const ModelSettings& model = settings.model;
  if (model.head_width > 0 || model.heads_of_keys() != model.heads || model.query_key_norm) {
    throw_usage("model.head_width, model.key_value_heads, model.query_key_norm",
                "are given, but this command measures layers with equal heads that share the width",
                "roformer bench measures whole models with them");
  }
  const auto weights = [&] { return truncated_normal(settings.model.initialization); };
  for (std::int64_t i = 0; i < layers; ++i) {
    layers_.push_back(
        {.projection = add(i, "query_key_value.weight", {3 * width, width}, weights()),
         .projection_bias = add(i, "query_key_value.bias", {3 * width}, zeros()),
         .output = add(i, "output.weight", {width, width}, weights()),
         .output_bias = add(i, "output.bias", {width}, zeros())});
  }
  scheme_ = make_scheme({.settings = settings_.position,
                         .shape = {.layers = layers,
                                   .width = width,
                                   .heads = settings.model.heads,
                                   .head_width = width / settings.model.heads,
                                   .causal = causal(),
                                   .training_length = settings.data.length},
                         .parameters = parameters_});
  parameters_.flatten();
  parameters_.apply_constraints();
}

at::Tensor AttentionLayers::attend_plainly(const at::Tensor& state, const Layer& layer,
                                           AttentionContext context) const {
  const std::int64_t width = settings_.model.width, heads = settings_.model.heads;
  const std::int64_t length = context.queries.count(), sequences = state.size(0) / length;
  const at::Tensor projected = project(state, layer.projection);
  const auto parts = (projected.to(layer.projection_bias.scalar_type()) + layer.projection_bias)
                         .view({sequences, length, 3, heads, width / heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  context.projections = {.query_weight = layer.projection.narrow(0, 0, width),
                         .key_weight = layer.projection.narrow(0, width, width)};
  at::Tensor token_inputs;
  const PositionScheme& scheme = scheme_->of_layer(context.layer);
  if (scheme.capabilities().token_inputs) {
    token_inputs = scheme.token_inputs(context.layer, state)
                       .view({sequences, length, heads, -1})
                       .transpose(1, 2);
  }
  return reference_attention({.query = parts[0],
                              .key = parts[1],
                              .value = parts[2],
                              .scheme = scheme,
                              .settings = settings_.position,
                              .parameters = parameters_,
                              .context = context,
                              .token_inputs = token_inputs})
      .transpose(1, 2)
      .reshape({sequences * length, width})
      .to(projected.scalar_type());
}

at::Tensor AttentionLayers::forward(const at::Tensor& x, std::int64_t length,
                                    AttentionForm form) const {
  const std::int64_t width = settings_.model.width;
  const TokenLayout layout = TokenLayout::uniform(x.size(0) / length, length);
  PositionSession session({.scheme = *scheme_,
                           .attention = settings_.attention,
                           .queries = Positions::range(0, length),
                           .keys = Positions::range(0, length),
                           .causal = causal(),
                           .training = true,
                           .device = plan_.device,
                           .attention_gradient = settings_.training.attention_gradient});
  at::Tensor state = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto index = static_cast<std::int64_t>(i);
    const at::Tensor attended =
        form == AttentionForm::plain
            ? attend_plainly(state, layer, session.context(index, Extent::square(length)))
            : self_attention(
                  {.projected = project(state, layer.projection),
                   .bias = layer.projection_bias,
                   .layout = layout,
                   .heads = settings_.model.heads,
                   .layer = index,
                   .projections = {.query_weight = layer.projection.narrow(0, 0, width),
                                   .key_weight = layer.projection.narrow(0, width, width)},
                   .input = state},
                  session);
    state = project(attended, layer.output) + layer.output_bias.to(x.scalar_type());
  }
  return state;
}

at::Tensor random_input(const std::vector<std::int64_t>& shape, const ComputePlan& plan) {
  const auto type = plan.precision == Precision::bf16 ? at::kBFloat16 : at::kFloat;
  return at::empty(shape, at::TensorOptions().dtype(type).device(plan.device)).normal_();
}

double timed_pass(const at::Tensor& x, const at::Tensor& slopes,
                  const std::function<at::Tensor(const at::Tensor&)>& function) {
  const auto start = BenchmarkClock::now();
  if (slopes.defined()) {
    x.mutable_grad() = at::Tensor();
    function(x).backward(slopes);
    wait_for(x.grad().flatten()[0]);
  } else {
    const c10::AutoGradMode no_gradient(false);
    wait_for(function(x.detach()).flatten()[0]);
  }
  return milliseconds_since(start);
}

double pass_memory(const at::Tensor& x, const at::Tensor& slopes,
                   const std::function<at::Tensor(const at::Tensor&)>& function) {
  const MemoryMeter meter;
  timed_pass(x, slopes, function);
  return static_cast<double>(meter.peak());
}

std::string refusal_of(const Settings& settings) {
  Problems problems;
  check(settings, {}, {}, problems);
  return problems.empty() ? "" : "refused: " + problems.lines().front();
}

}  // namespace roformer
