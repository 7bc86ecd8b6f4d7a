#include "tasks/task_model.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

#include "config/task_facts.h"
#include "tensor/on_device.h"

namespace roformer {

StackSettings stack_settings(const Settings& settings, std::int64_t vocabulary) {
  StackSettings result{.model = settings.model,
                       .attention = settings.attention,
                       .position = settings.position,
                       .causal = task_facts(settings.task).causal,
                       .training_length = settings.data.length,
                       .recompute = settings.training.recompute,
                       .attention_gradient = settings.training.attention_gradient};
  if (result.model.vocabulary == 0) result.model.vocabulary = vocabulary;
  if (result.model.vocabulary < vocabulary) {
    throw_usage("model.vocabulary",
                fmt::format("{} is smaller than the tokenizer's {} pieces", result.model.vocabulary,
                            vocabulary),
                settings.model.from.empty()
                    ? "leave it at 0 to take the tokenizer's"
                    : "leave out tokenizer.file to take the tokenizer of model.from");
  }
  return result;
}

void freeze_as_asked(const ModelSettings& model, ParameterStore& parameters) {
  parameters.freeze([&](const ParameterSpec& spec) {
    if (spec.depth == 0) return model.freeze_embeddings;
    return spec.depth <= model.freeze_layers;
  });
}

WeightForm weight_form(const ComputePlan& plan, bool int8) {
  if (!int8) return weight_form(plan.precision);
  if (!plan.device.is_cpu() || plan.precision != Precision::fp32) {
    throw_usage("--int8", "goes with --device cpu and --training.precision fp32 only");
  }
  return WeightForm::int8;
}

void add_projections(const ParameterStore& parameters, WeightForm form, InferenceWeights& weights) {
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.spec.projects) continue;
    weights.add(parameter.value, form);
    parameters.release(parameter.value);
  }
}

at::Tensor copy_to(const std::vector<std::int64_t>& values, at::Device device) {
  const at::Tensor copy = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::ranges::copy(values, copy.mutable_data_ptr<std::int64_t>());
  return on_device(copy, device);
}

}  // namespace roformer
