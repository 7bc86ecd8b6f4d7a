#include "tasks/tagging/tagging_figures.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>

#include "base/error.h"
#include "metrics/agreement.h"
#include "tasks/tagging/tagging_data.h"
#include "tasks/task_model.h"
#include "tensor/aten.h"

namespace roformer {

PredictedTags predicted_tags(const at::Tensor& outputs) {
  const at::Tensor tags = outputs.argmax(1);
  const at::Tensor probabilities = at::softmax(outputs.to(at::kDouble), 1).contiguous();
  const auto* const number = tags.const_data_ptr<std::int64_t>();
  const auto* const rows = probabilities.const_data_ptr<double>();
  PredictedTags result;
  for (std::int64_t word = 0; word < outputs.size(0); ++word) {
    result.tags.push_back(number[word]);
    result.probabilities.push_back(rows[word * outputs.size(1) + number[word]]);
  }
  return result;
}

at::Tensor tag_loss_sum(const at::Tensor& outputs, const std::vector<std::int64_t>& labels) {
  constexpr std::int64_t kUnknown = -1;
  return at::cross_entropy_loss(outputs, copy_to(labels, outputs.device()), {}, at::Reduction::Sum,
                                kUnknown);
}

std::vector<std::vector<std::string>> tags_by_sentence(const PredictedTags& predicted,
                                                       const std::vector<TaggedSentence>& sentences,
                                                       const std::vector<std::string>& classes) {
  std::vector<std::vector<std::string>> all;
  std::size_t word = 0;
  for (const TaggedSentence& sentence : sentences) {
    std::vector<std::string>& tags = all.emplace_back();
    for (std::size_t i = 0; i < sentence.words.size(); ++i, ++word) {
      tags.push_back(classes[static_cast<std::size_t>(predicted.tags[word])]);
    }
  }
  ROFORMER_ASSERT(word == predicted.tags.size());
  return all;
}

TaggingFigures tagging_figures(const at::Tensor& outputs,
                               const std::vector<TaggedSentence>& sentences,
                               const std::vector<std::string>& classes, EntityRule rule) {
  const PredictedTags predicted = predicted_tags(outputs);
  const auto tags = tags_by_sentence(predicted, sentences, classes);
  TaggingFigures figures{.values = {}, .entities = EntityScores(rule)};
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    figures.entities.add(sentences[i].tags, tags[i]);
    const std::vector<std::int64_t> numbers = tag_numbers(sentences[i].tags, classes);
    labels.insert(labels.end(), numbers.begin(), numbers.end());
  }
  const auto known = static_cast<double>(
      std::ranges::count_if(labels, [](std::int64_t label) { return label >= 0; }));
  const double loss = tag_loss_sum(outputs.to(at::kDouble), labels).item<double>();
  const PrecisionRecall total = figures.entities.total().figures();
  figures.values = {{"loss", known > 0 ? loss / known : 0},
                    {"accuracy", accuracy({.predictions = predicted.tags, .labels = labels}).value},
                    {"precision", total.precision},
                    {"recall", total.recall},
                    {"entity_f1", total.f1},
                    {"collapsed", one_class_predicted(predicted.tags) ? 1 : 0}};
  return figures;
}

}  // namespace roformer
