// A tagger's outputs in terms of its tags: predicted tags with their probabilities, and the figures
// of labelled sentences. W words of all sentences in their order, C tags.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/tagged_sentences.h"
#include "metrics/entities.h"

namespace roformer {

struct PredictedTags {
  std::vector<std::int64_t> tags;     // [W] class numbers
  std::vector<double> probabilities;  // [W] of these tags, from the softmax
};
// outputs [W, C] float on the CPU.
PredictedTags predicted_tags(const at::Tensor& outputs);

// The sum over the words of the cross entropy. outputs [W, C] with a graph, on any device; a label
// of -1 has no loss.
at::Tensor tag_loss_sum(const at::Tensor& outputs, const std::vector<std::int64_t>& labels);

struct TaggingFigures {
  // loss (per word whose tag is a class), accuracy over all words; precision, recall and entity_f1
  // over the entities of all types; collapsed is 1 if every predicted tag is the same, else 0.
  std::map<std::string, double> values;
  EntityScores entities;
};
TaggingFigures tagging_figures(const at::Tensor& outputs,
                               const std::vector<TaggedSentence>& sentences,
                               const std::vector<std::string>& classes, EntityRule rule);

// The predicted tags of each sentence by name.
std::vector<std::vector<std::string>> tags_by_sentence(const PredictedTags& predicted,
                                                       const std::vector<TaggedSentence>& sentences,
                                                       const std::vector<std::string>& classes);

}  // namespace roformer
