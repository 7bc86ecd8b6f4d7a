// A model that tags words, and its training: each word of a sentence gets a tag (entities, parts of
// speech). The state of every word's first piece passes the head. N words, C tags.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "tasks/tagging/tagging_data.h"
#include "tasks/tagging/word_windows.h"
#include "tasks/task_definition.h"
#include "tasks/text_model.h"

namespace roformer {

// The window's text, with its words as places.
void append(const WordWindow& window, TextBatch& batch);

class Tagger : public TextModel {
 public:
  static constexpr std::string_view kNoun = "tagger";

  // `vocabulary` has the same meaning as in LanguageModel.
  Tagger(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan);

  // The logits of all words, [W, C] float on the CPU, without a graph: row `words[i]` for each word
  // of a window. W counts the words of all windows.
  at::Tensor predict(std::span<const WordWindow> windows, const WorkProgress& progress = {},
                     Processes& processes = *make_single_process()) const;
};

using TrainedTagger = RunOf<Tagger>;

// Warns of words whose tags are no classes: they count as wrong and have no loss.
void warn_of_foreign_tags(const TaggedSet& set, const std::vector<std::string>& classes);

EvaluationResult evaluate_tagger(OpenedRun run, const EvaluationRequest& request);
void predict_tags(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
