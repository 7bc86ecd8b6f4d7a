// A model as training left it: the settings, tokenizer and weights of one checkpoint of a run.
// Options that leave the parameters as they are (a frequency scaling, a window, another scheme
// without parameters) may be changed when it is opened, to be tried on the same weights
// (shared_options.h).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/task_facts.h"
#include "tasks/classifier.h"
#include "tasks/language_model.h"
#include "tasks/translator.h"
#include "tensor/device.h"
#include "text/tokenizer.h"
#include "text/translation_tokenizers.h"

namespace roformer {

struct TrainedModelOptions {
  std::string checkpoint = "best";  // or "last" or a step
  // Which weights of it; none: the run's training.weights. An average that it has and that is not
  // used is mentioned.
  std::optional<WeightsKind> weights;
  std::vector<Override> overrides;
  // The same overrides are for other runs, too: one may be an option of their schemes only.
  bool among_others = false;
};

// How a trained model computes: in fp32 unless training.precision is among the overrides, so that
// the same weights give the same figures on every machine. What a training chooses for its speed
// (auto) is no part of the model.
ComputePlan plan_for_use(const Settings& settings, const std::vector<Override>& overrides);

// What a run is of: who opens it asks this first. Throws Error (failure) for what is no run.
const TaskFacts& task_of_run(const std::filesystem::path& run_or_checkpoint,
                             const std::string& checkpoint = "best");

// A checkpoint without its weights.
struct OpenedCheckpoint {
  std::filesystem::path checkpoint;
  Settings settings;  // with the overrides
  std::vector<Override> overrides;
  std::unique_ptr<Tokenizer> tokenizer;
};

struct TrainedModel : OpenedCheckpoint {
  std::unique_ptr<LanguageModel> model;
};

struct TrainedClassifier : OpenedCheckpoint {
  std::unique_ptr<Classifier> classifier;
};

struct TrainedTranslator : OpenedCheckpoint {
  TranslationTokenizers tokenizers;
  std::unique_ptr<Translator> translator;
};

// Of overrides those that say how a model computes, and not what it is: what a second model takes
// of the flags for a first.
std::vector<Override> computing_overrides(const std::vector<Override>& overrides);

// True for position.*, attention.*, decoding.*, device, threads and training.precision.
bool may_change_when_trained(const std::string& key);

// Prepares the threads, too. Throws Error: failure for what is no whole run, usage for an override
// of another key, for one that changes the model's parameters, and for a run of another task than
// mlm and causal_lm.
TrainedModel open_trained_model(const std::filesystem::path& run_or_checkpoint,
                                const TrainedModelOptions& options = {});
// Likewise of a run with task probe or masked_probe, whose tables reach to its longest test.
TrainedModel open_trained_probe(const std::filesystem::path& run_or_checkpoint,
                                const TrainedModelOptions& options = {});
// Likewise of a run with task glue.
TrainedClassifier open_trained_classifier(const std::filesystem::path& run_or_checkpoint,
                                          const TrainedModelOptions& options = {});
// Likewise of a run with task matching.
TrainedClassifier open_trained_matcher(const std::filesystem::path& run_or_checkpoint,
                                       const TrainedModelOptions& options = {});
// Likewise of a run with task translation; its `tokenizer` is not filled.
TrainedTranslator open_trained_translator(const std::filesystem::path& run_or_checkpoint,
                                          const TrainedModelOptions& options = {});

// Throws Error (usage) where the model's scheme has too few positions for a text of `length` tokens
// that begins at `shift`. `what` names the flag.
void require_positions(const Settings& settings, const std::string& what, std::int64_t length,
                       std::int64_t shift = 0);

}  // namespace roformer
