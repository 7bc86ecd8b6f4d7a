#include "runs/glue_prediction.h"

#include <ATen/ops/softmax.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runs/classifier_classes.h"

namespace roformer {

std::vector<GluePrediction> glue_predictions(GlueTask task, const at::Tensor& outputs) {
  std::vector<GluePrediction> predictions(static_cast<std::size_t>(outputs.size(0)));
  if (glue_task_facts(task).is_regression()) {
    const std::vector<double> scores = predicted_scores(outputs);
    for (std::size_t i = 0; i < scores.size(); ++i) predictions[i].score = scores[i];
    return predictions;
  }
  const std::vector<std::int64_t> classes = predicted_classes(outputs);
  const at::Tensor probabilities = at::softmax(outputs.to(at::kDouble), 1).contiguous();
  const auto* row = probabilities.const_data_ptr<double>();
  for (std::size_t i = 0; i < classes.size(); ++i, row += outputs.size(1)) {
    predictions[i].label = classes[i];
    predictions[i].probabilities.assign(row, row + outputs.size(1));
  }
  return predictions;
}

std::vector<GluePrediction> predict_lines(const TrainedClassifier& trained,
                                          const std::vector<TextLine>& lines) {
  const GlueTask task = trained.settings.glue.task;
  const bool pairs = glue_task_facts(task).pairs;
  std::vector<EncodedText> texts;
  for (const TextLine& line : lines) {
    std::optional<std::string_view> second;
    if (pairs) second = line.second;
    texts.push_back(
        encode_text(*trained.tokenizer, line.first, second, trained.settings.data.length));
  }
  std::vector<GluePrediction> predictions =
      glue_predictions(task, trained.classifier->predict(texts));
  for (std::size_t i = 0; i < texts.size(); ++i) predictions[i].cut = texts[i].cut;
  return predictions;
}

std::string glue_submission(GlueTask task, const std::vector<GlueExample>& examples,
                            const std::vector<GluePrediction>& predictions) {
  ROFORMER_ASSERT(examples.size() == predictions.size());
  std::string text = "index\tprediction\n";
  for (std::size_t i = 0; i < examples.size(); ++i) {
    GluePrediction prediction = predictions[i];
    prediction.score = std::clamp(prediction.score, 0.0, 5.0);
    text += fmt::format("{}\t{}\n", examples[i].index, prediction_text(task, prediction));
  }
  return text;
}

std::vector<GlueMistake> glue_mistakes(GlueTask task, const std::vector<GlueExample>& examples,
                                       const std::vector<GluePrediction>& predictions,
                                       std::size_t count) {
  ROFORMER_ASSERT(examples.size() == predictions.size());
  const bool regression = glue_task_facts(task).is_regression();
  std::vector<GlueMistake> mistakes;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const GluePrediction& prediction = predictions[i];
    if (regression) {
      mistakes.push_back({.example = i, .weight = std::abs(prediction.score - examples[i].score)});
    } else if (prediction.label != examples[i].label) {
      mistakes.push_back(
          {.example = i,
           .weight = prediction.probabilities[static_cast<std::size_t>(prediction.label)]});
    }
  }
  std::ranges::stable_sort(mistakes, std::ranges::greater{}, &GlueMistake::weight);
  mistakes.resize(std::min(mistakes.size(), count));
  return mistakes;
}

std::vector<bool> right_labels(const std::vector<GlueExample>& examples,
                               const std::vector<GluePrediction>& predictions) {
  ROFORMER_ASSERT(examples.size() == predictions.size());
  std::vector<bool> right;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    right.push_back(predictions[i].label == examples[i].label);
  }
  return right;
}

std::string prediction_text(GlueTask task, const GluePrediction& prediction) {
  const GlueTaskFacts& facts = glue_task_facts(task);
  if (facts.is_regression()) return fmt::format("{:.3f}", prediction.score);
  return facts.labels[static_cast<std::size_t>(prediction.label)];
}

std::string prediction_text(const GlueSettings& settings, const GluePrediction& prediction) {
  const std::vector<std::string> names = class_names(settings);
  return names.empty() ? prediction_text(settings.task, prediction)
                       : names[static_cast<std::size_t>(prediction.label)];
}

std::string label_text(GlueTask task, const GlueExample& example) {
  return prediction_text(task, {.label = example.label, .score = example.score});
}

}  // namespace roformer
