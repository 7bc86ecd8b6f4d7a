// Steps that the models of all tasks share when they are built from settings.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/settings.h"
#include "model/transformer_stack.h"
#include "tensor/inference_weights.h"
#include "tensor/parameters.h"

namespace roformer {

// `vocabulary`: the tokenizer's size, used where model.vocabulary is 0; a smaller model.vocabulary
// is refused (usage).
StackSettings stack_settings(const Settings& settings, std::int64_t vocabulary);

// Freezes what model.freeze_embeddings and model.freeze_layers name. Call it before flatten().
void freeze_as_asked(const ModelSettings& model, ParameterStore& parameters);

// Adds the matrices that project() multiplies by. They must not change from then on.
void add_projections(const ParameterStore& parameters, WeightForm form, InferenceWeights& weights);

// A copy of the numbers as a tensor [N] on the device. On the CPU it may be made on any thread.
at::Tensor copy_to(const std::vector<std::int64_t>& values, at::Device device);

}  // namespace roformer
