// A model of any task, for code that opens, checks and fills it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/assignment.h"
#include "config/settings.h"
#include "model/transformer_stack.h"
#include "tensor/device.h"
#include "tensor/inference_weights.h"
#include "tensor/parameters.h"
#include "text/tokenizer.h"
#include "text/translation_tokenizers.h"

namespace roformer {

class TaskModel {
 public:
  virtual ~TaskModel() = default;
  virtual ParameterStore& parameters() = 0;
  virtual const ComputePlan& plan() const = 0;
};

// The number of tokens on each side, and whether both sides have the same tokens. A model of one
// text has only `source`.
struct TranslationVocabularies {
  std::int64_t source = 0;
  std::int64_t target = 0;
  bool joint = true;
};

// A checkpoint without its weights.
struct OpenedCheckpoint {
  std::filesystem::path checkpoint;
  Settings settings;  // with the overrides
  std::vector<Override> overrides;
  WeightForm weight_form = WeightForm::fp32;  // for products of few rows
  std::unique_ptr<Tokenizer> tokenizer;       // none if there are two:
  TranslationTokenizers tokenizers;           // of an encoder-decoder
};

// A checkpoint with its model, for any task.
struct OpenedRun : OpenedCheckpoint {
  std::unique_ptr<TaskModel> model;
};

// A checkpoint with the model of a known task.
template <class Model>
struct RunOf : OpenedCheckpoint {
  std::unique_ptr<Model> model;

  RunOf() = default;
  explicit RunOf(OpenedRun run) : OpenedCheckpoint(std::move(static_cast<OpenedCheckpoint&>(run))) {
    model.reset(dynamic_cast<Model*>(run.model.release()));
    ROFORMER_ASSERT(model != nullptr);
  }
};

// `vocabulary` is the tokenizer's size, used if model.vocabulary is 0. Throws Error (usage) if
// model.vocabulary is smaller.
StackSettings stack_settings(const Settings& settings, std::int64_t vocabulary);

// Freezes the parts that model.freeze_embeddings and model.freeze_layers name. Call it before
// flatten().
void freeze_as_asked(const ModelSettings& model, ParameterStore& parameters);

// The form of the weights for decoding: eight bits, or that of the plan's precision. Throws Error
// (usage) where --int8 does not go with the plan.
WeightForm weight_form(const ComputePlan& plan, bool int8);

// Adds the matrices that project() multiplies by. They must not change from then on.
void add_projections(const ParameterStore& parameters, WeightForm form, InferenceWeights& weights);

// A copy of the numbers as a tensor [N] on the device. Any thread may copy to the CPU.
at::Tensor copy_to(const std::vector<std::int64_t>& values, at::Device device);

}  // namespace roformer
