// The training on labelled examples that fit into the memory, whichever the task: the tokenizer,
// the batches by length, and the run's record of its data.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "data/length_batches.h"
#include "data/text_pairs.h"
#include "tasks/task_definition.h"
#include "training/task.h"

namespace roformer {

struct ExampleBatch : TrainingBatch {
  TextBatch texts;
  std::vector<std::int64_t> examples;  // their numbers
  std::vector<std::int64_t> labels;    // of taggers: of the words
  // Embedders only: the place of each example's text in the whole micro-batch, and the places where
  // its parts begin.
  std::vector<std::int64_t> order, parts;
};

class ExampleTraining : public TrainingTask {
 public:
  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const final;
  std::unique_ptr<TrainingBatch> make_part_of(std::int64_t stage, std::int64_t number,
                                              const BatchPart& part) const final;
  double batches_per_epoch() const final;
  double tokens_per_batch() const final;
  void save_assets(const InnerPath& folder) const final;

 protected:
  ExampleTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer)
      : settings_(settings), tokenizer_(std::move(tokenizer)) {}

  const Settings settings_;
  const std::shared_ptr<const Tokenizer> tokenizer_;

  // Call it in the constructor with the tokens of each example. A batch with a fixed number of
  // examples mixes all lengths, as the benchmark's baselines do: an unpadded batch wastes nothing
  // on them. A batch with a fixed number of tokens holds examples of similar length.
  void batch_by_length(std::vector<std::int32_t> lengths);
  // Adds the texts and labels of batch.examples, and counts the targets if they are not examples.
  virtual void fill(ExampleBatch& batch) const = 0;
  // Reduces a filled batch to the examples of the part.
  virtual void take_part(const BatchPart& part, ExampleBatch& batch) const;
  // Places examples of the same length side by side, so that one call of the attention handles
  // them.
  void sort_by_length(ExampleBatch& batch) const;
  // The data's entry in run.json.
  nlohmann::json record_of(std::int64_t training_examples, std::int64_t validation_examples) const;

 private:
  std::vector<std::int32_t> lengths_;
  std::optional<LengthBuckets> batches_;
};

// The run's own tokenizer if the run continues, else the tokenizer that the settings name, else the
// tokenizer of the model to start from. Throws Error (usage) if there is none, or if it has no
// [CLS] and [SEP].
std::shared_ptr<const Tokenizer> text_tokenizer(const TaskSources& sources);

// TaskDefinition's `open` for an ExampleTraining, whose data() is the entry in run.json.
template <class Training>
OpenedTask open_examples(const TaskSources& sources) {
  std::shared_ptr<const Tokenizer> tokenizer = text_tokenizer(sources);
  auto task = std::make_unique<Training>(sources.settings, tokenizer, sources.plan);
  nlohmann::json data = task->data();
  return {.task = std::move(task), .tokenizer = std::move(tokenizer), .data = std::move(data)};
}

// Warns of the texts that were cut to `length` tokens, and returns their number. `unit`: "pairs".
std::int64_t warn_of_cut(const std::vector<EncodedText>& texts, const std::string& name,
                         const char* unit, std::int64_t length);
// Warns if the vocabulary does not know more than 1 % of the tokens.
void warn_of_unknown(const std::vector<EncodedText>& texts, const std::string& name,
                     const Tokenizer& tokenizer);

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts);

}  // namespace roformer
