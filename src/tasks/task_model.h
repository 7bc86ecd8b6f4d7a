// A model of any task, as code sees it that opens, checks and fills it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/assignment.h"
#include "config/settings.h"
#include "tensor/device.h"
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

// The number of tokens of each side, and whether both sides have the same tokens. A model of one
// text has `source` alone.
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
  std::unique_ptr<Tokenizer> tokenizer;  // none where there are two:
  TranslationTokenizers tokenizers;      // of an encoder-decoder
};

// A checkpoint with its model, of whatever task.
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

}  // namespace roformer
