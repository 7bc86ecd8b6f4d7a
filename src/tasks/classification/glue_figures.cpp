#include "tasks/classification/glue_figures.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "metrics/agreement.h"
#include "tasks/classification/classifier_classes.h"
#include "tasks/task_model.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Collector {
 public:
  void add(const std::string& name, const Score& score) {
    figures_.values[name] = score.value;
    if (score.degenerate) figures_.undefined.push_back(name);
  }
  void add(const std::string& name, double value) { figures_.values[name] = value; }
  GlueFigures take() { return std::move(figures_); }

 private:
  GlueFigures figures_;
};

// The class with the largest output, [N].
std::vector<std::int64_t> predicted_classes(const at::Tensor& outputs) {
  const at::Tensor classes = outputs.argmax(1);
  const auto* const first = classes.const_data_ptr<std::int64_t>();
  return {first, first + classes.numel()};
}

void add_classification(GlueTask task, const at::Tensor& outputs,
                        const std::vector<GlueExample>& examples, Collector& figures) {
  const std::vector<std::int64_t> predictions = predicted_classes(outputs);
  std::vector<std::int64_t> labels;
  for (const GlueExample& example : examples) labels.push_back(example.label);
  const LabelPairs pairs{.predictions = predictions, .labels = labels};
  figures.add("accuracy", accuracy(pairs));
  const std::string_view metric = glue_metric(task);
  if (metric == "f1") figures.add("f1", f1(pairs));
  if (metric == "matthews") figures.add("matthews", matthews(pairs));
  figures.add("collapsed", one_class_predicted(predictions) ? 1 : 0);
}

void add_regression(const at::Tensor& outputs, const std::vector<GlueExample>& examples,
                    Collector& figures) {
  const std::vector<double> predictions = predicted_scores(outputs);
  std::vector<double> targets;
  for (const GlueExample& example : examples) targets.push_back(example.score);
  const ScorePairs pairs{.predictions = predictions, .targets = targets};
  figures.add("pearson", pearson(pairs));
  figures.add("spearman", spearman(pairs));
  const auto [low, high] = std::ranges::minmax(predictions);
  figures.add("collapsed", low == high ? 1 : 0);
}

}  // namespace

GlueFigures glue_figures(GlueTask task, const at::Tensor& outputs,
                         const std::vector<GlueExample>& examples) {
  ROFORMER_ASSERT(!examples.empty() && outputs.size(0) == std::ssize(examples));
  Collector figures;
  std::vector<const GlueExample*> all;
  for (const GlueExample& example : examples) all.push_back(&example);
  figures.add("loss", glue_loss_sum(task, outputs.to(at::kDouble), all).item<double>() /
                          static_cast<double>(examples.size()));
  if (glue_task_facts(task).is_regression()) {
    add_regression(outputs, examples, figures);
  } else {
    add_classification(task, outputs, examples, figures);
  }
  return figures.take();
}

std::map<std::string, double> glue_figures_with_warnings(GlueTask task, const at::Tensor& outputs,
                                                         const std::vector<GlueExample>& examples) {
  GlueFigures figures = glue_figures(task, outputs, examples);
  for (const std::string& name : figures.undefined) {
    log::warn("{} of {} is not defined for these predictions and counts as 0.0", name,
              glue_task_facts(task).folder);
  }
  return std::move(figures.values);
}

std::vector<double> predicted_scores(const at::Tensor& outputs) {
  const at::Tensor scores = outputs.select(1, 0).to(at::kDouble).contiguous();
  const auto* const first = scores.const_data_ptr<double>();
  return {first, first + scores.numel()};
}

at::Tensor glue_loss_sum(GlueTask task, const at::Tensor& outputs,
                         const std::vector<const GlueExample*>& examples) {
  if (glue_task_facts(task).is_regression()) {
    std::vector<double> targets;
    for (const GlueExample* example : examples) targets.push_back(example->score);
    return at::mse_loss(outputs.select(1, 0),
                        on_device(at::tensor(targets, at::kDouble), outputs.options()),
                        at::Reduction::Sum);
  }
  std::vector<std::int64_t> labels;
  for (const GlueExample* example : examples) labels.push_back(example->label);
  return at::cross_entropy_loss(outputs, copy_to(labels, outputs.device()), {}, at::Reduction::Sum);
}

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
  std::vector<GluePrediction> predictions = glue_predictions(task, trained.model->predict(texts));
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
