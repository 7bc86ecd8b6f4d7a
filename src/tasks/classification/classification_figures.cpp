#include "tasks/classification/classification_figures.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "data/glue.h"
#include "tasks/task_model.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Collector {
 public:
  explicit Collector(const Targets& targets) : targets_(targets) {}

  // Keeps the figure if the targets have it.
  void add(std::string_view name, const Score& score) {
    if (std::ranges::find(targets_.figures, name) == targets_.figures.end()) return;
    figures_.values[std::string(name)] = score.value;
    if (score.degenerate) figures_.undefined.emplace_back(name);
  }
  void set(const std::string& name, double value) { figures_.values[name] = value; }
  ClassificationFigures take() { return std::move(figures_); }

 private:
  const Targets& targets_;
  ClassificationFigures figures_;
};

// The class with the largest output, [N].
std::vector<std::int64_t> predicted_classes(const at::Tensor& outputs) {
  const at::Tensor classes = outputs.argmax(1);
  const auto* const first = classes.const_data_ptr<std::int64_t>();
  return {first, first + classes.numel()};
}

bool has_class(const LabelledText& example, std::int64_t number) {
  return example.label == number || std::ranges::binary_search(example.labels, number);
}

// The mean over the classes of the area under the curve of the class against the others; for two
// classes the area of the second. A class that all or no examples have has none and is left out.
Score mean_area(const Targets& targets, const std::vector<LabelledText>& examples,
                const std::vector<Prediction>& predictions) {
  const bool binary = targets.kind == TargetKind::single && targets.outputs() == 2;
  double sum = 0;
  std::int64_t defined = 0;
  for (std::int64_t number = binary ? 1 : 0; number < targets.outputs(); ++number) {
    std::vector<double> scores;
    std::vector<bool> positive;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      scores.push_back(predictions[i].probabilities[static_cast<std::size_t>(number)]);
      positive.push_back(has_class(examples[i], number));
    }
    const Score area = area_under_curve(scores, positive);
    sum += area.value;
    defined += area.degenerate ? 0 : 1;
  }
  if (defined == 0) return {.value = 0, .degenerate = true};
  return {.value = sum / static_cast<double>(defined)};
}

void add_classes(const Targets& targets, const at::Tensor& outputs,
                 const std::vector<LabelledText>& examples, Collector& figures) {
  const std::vector<Prediction> predictions = predictions_of(targets, outputs);
  const std::vector<ClassCounts> counts = class_counts(targets, examples, predictions);
  const bool several = targets.kind == TargetKind::multi;
  figures.add("macro_f1", macro_f1(counts, several));
  figures.add("micro_f1", micro_f1(counts));
  if (std::ranges::find(targets.figures, "auc") != targets.figures.end()) {
    figures.add("auc", mean_area(targets, examples, predictions));
  }
  if (several) {
    const std::vector<bool> right = right_labels(examples, predictions);
    figures.add("accuracy", {.value = static_cast<double>(std::ranges::count(right, true)) /
                                      static_cast<double>(right.size())});
    const bool collapsed = std::ranges::all_of(predictions, [&](const Prediction& prediction) {
      return prediction.labels == predictions.front().labels;
    });
    figures.set("collapsed", collapsed ? 1 : 0);
    return;
  }
  const std::vector<std::int64_t> predicted = predicted_classes(outputs);
  std::vector<std::int64_t> labels;
  for (const LabelledText& example : examples) labels.push_back(example.label);
  const LabelPairs pairs{.predictions = predicted, .labels = labels};
  figures.add("accuracy", accuracy(pairs));
  figures.add("f1", f1(pairs));
  figures.add("matthews", matthews(pairs));
  figures.set("collapsed", one_class_predicted(predicted) ? 1 : 0);
}

void add_regression(const at::Tensor& outputs, const std::vector<LabelledText>& examples,
                    Collector& figures) {
  const std::vector<double> predictions = predicted_scores(outputs);
  std::vector<double> targets;
  for (const LabelledText& example : examples) targets.push_back(example.score);
  const ScorePairs pairs{.predictions = predictions, .targets = targets};
  figures.add("pearson", pearson(pairs));
  figures.add("spearman", spearman(pairs));
  const auto [low, high] = std::ranges::minmax(predictions);
  figures.set("collapsed", low == high ? 1 : 0);
}

// [B, C] 1 where an example has the class.
at::Tensor class_table(const std::vector<const LabelledText*>& examples, std::int64_t classes) {
  at::Tensor table =
      at::zeros({std::ssize(examples), classes}, at::TensorOptions().dtype(at::kFloat));
  auto* row = table.mutable_data_ptr<float>();
  for (const LabelledText* example : examples) {
    for (const std::int64_t number : example->labels) row[number] = 1;
    row += classes;
  }
  return table;
}

}  // namespace

ClassificationFigures classification_figures(const Targets& targets, const at::Tensor& outputs,
                                             const std::vector<LabelledText>& examples) {
  ROFORMER_ASSERT(!examples.empty() && outputs.size(0) == std::ssize(examples));
  Collector figures(targets);
  std::vector<const LabelledText*> all;
  for (const LabelledText& example : examples) all.push_back(&example);
  figures.set("loss",
              classification_loss_sum(targets, outputs.to(at::kDouble), all).item<double>() /
                  static_cast<double>(examples.size()));
  if (targets.is_regression()) {
    add_regression(outputs, examples, figures);
  } else {
    add_classes(targets, outputs, examples, figures);
  }
  return figures.take();
}

std::map<std::string, double> figures_with_warnings(const Targets& targets,
                                                    const at::Tensor& outputs,
                                                    const std::vector<LabelledText>& examples) {
  ClassificationFigures figures = classification_figures(targets, outputs, examples);
  for (const std::string& name : figures.undefined) {
    log::warn("{} is not defined for these predictions and counts as 0.0", name);
  }
  return std::move(figures.values);
}

std::vector<double> predicted_scores(const at::Tensor& outputs) {
  const at::Tensor scores = outputs.select(1, 0).to(at::kDouble).contiguous();
  const auto* const first = scores.const_data_ptr<double>();
  return {first, first + scores.numel()};
}

at::Tensor balanced_class_weights(const Targets& targets,
                                  const std::vector<LabelledText>& examples) {
  std::vector<double> weights;
  const auto all = static_cast<double>(examples.size());
  const auto classes = static_cast<double>(targets.outputs());
  for (std::int64_t number = 0; number < targets.outputs(); ++number) {
    const auto having = static_cast<double>(std::ranges::count_if(
        examples, [&](const LabelledText& example) { return has_class(example, number); }));
    const double weight =
        targets.kind == TargetKind::multi ? (all - having) / having : all / (classes * having);
    weights.push_back(having > 0 ? weight : 1);
  }
  return at::tensor(weights, at::kFloat);
}

at::Tensor classification_loss_sum(const Targets& targets, const at::Tensor& outputs,
                                   const std::vector<const LabelledText*>& examples,
                                   const at::Tensor& weights) {
  at::Tensor here;
  if (weights.defined()) here = on_device(weights, outputs.options());
  if (targets.is_regression()) {
    std::vector<double> scores;
    for (const LabelledText* example : examples) scores.push_back(example->score);
    return at::mse_loss(outputs.select(1, 0),
                        on_device(at::tensor(scores, at::kDouble), outputs.options()),
                        at::Reduction::Sum);
  }
  if (targets.kind == TargetKind::multi) {
    const at::Tensor table = class_table(examples, outputs.size(1));
    const at::Tensor sum = at::binary_cross_entropy_with_logits(
        outputs, on_device(table, outputs.options()), {}, here, at::Reduction::Sum);
    return sum / static_cast<double>(outputs.size(1));
  }
  std::vector<std::int64_t> labels;
  for (const LabelledText* example : examples) labels.push_back(example->label);
  return at::cross_entropy_loss(outputs, copy_to(labels, outputs.device()), here,
                                at::Reduction::Sum);
}

std::vector<Prediction> predictions_of(const Targets& targets, const at::Tensor& outputs) {
  std::vector<Prediction> predictions(static_cast<std::size_t>(outputs.size(0)));
  if (targets.is_regression()) {
    const std::vector<double> scores = predicted_scores(outputs);
    for (std::size_t i = 0; i < scores.size(); ++i) predictions[i].score = scores[i];
    return predictions;
  }
  const bool several = targets.kind == TargetKind::multi;
  const std::vector<std::int64_t> classes = predicted_classes(outputs);
  const at::Tensor exact = outputs.to(at::kDouble);
  const at::Tensor probabilities =
      (several ? at::sigmoid(exact) : at::softmax(exact, 1)).contiguous();
  const auto* row = probabilities.const_data_ptr<double>();
  for (std::size_t i = 0; i < classes.size(); ++i, row += outputs.size(1)) {
    Prediction& prediction = predictions[i];
    prediction.probabilities.assign(row, row + outputs.size(1));
    if (!several) {
      prediction.label = classes[i];
      continue;
    }
    for (std::int64_t number = 0; number < outputs.size(1); ++number) {
      if (row[number] >= 0.5) prediction.labels.push_back(number);
    }
  }
  return predictions;
}

std::string glue_submission(GlueTask task, const std::vector<LabelledText>& examples,
                            const std::vector<Prediction>& predictions) {
  ROFORMER_ASSERT(examples.size() == predictions.size());
  const std::vector<std::string>& labels = glue_task_facts(task).labels;
  std::string text = "index\tprediction\n";
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Prediction prediction = predictions[i];
    prediction.score = std::clamp(prediction.score, 0.0, 5.0);
    text += fmt::format("{}\t{}\n", examples[i].index, prediction_text(labels, prediction));
  }
  return text;
}

std::vector<Mistake> mistakes_of(const Targets& targets, const std::vector<LabelledText>& examples,
                                 const std::vector<Prediction>& predictions, std::size_t count) {
  ROFORMER_ASSERT(examples.size() == predictions.size());
  std::vector<Mistake> mistakes;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Prediction& prediction = predictions[i];
    if (targets.is_regression()) {
      mistakes.push_back({.example = i, .weight = std::abs(prediction.score - examples[i].score)});
    } else if (targets.kind == TargetKind::multi) {
      if (prediction.labels == examples[i].labels) continue;
      double wrong = 0;  // the probability given to the wrong answer of the worst class
      for (std::int64_t number = 0; number < targets.outputs(); ++number) {
        const double p = prediction.probabilities[static_cast<std::size_t>(number)];
        wrong = std::max(wrong, has_class(examples[i], number) ? 1 - p : p);
      }
      mistakes.push_back({.example = i, .weight = wrong});
    } else if (prediction.label != examples[i].label) {
      mistakes.push_back(
          {.example = i,
           .weight = prediction.probabilities[static_cast<std::size_t>(prediction.label)]});
    }
  }
  std::ranges::stable_sort(mistakes, std::ranges::greater{}, &Mistake::weight);
  mistakes.resize(std::min(mistakes.size(), count));
  return mistakes;
}

std::vector<bool> right_labels(const std::vector<LabelledText>& examples,
                               const std::vector<Prediction>& predictions) {
  ROFORMER_ASSERT(examples.size() == predictions.size());
  std::vector<bool> right;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    right.push_back(predictions[i].label == examples[i].label &&
                    predictions[i].labels == examples[i].labels);
  }
  return right;
}

std::vector<std::vector<std::int64_t>> confusion_matrix(
    const Targets& targets, const std::vector<LabelledText>& examples,
    const std::vector<Prediction>& predictions) {
  const auto classes = static_cast<std::size_t>(targets.outputs());
  std::vector<std::vector<std::int64_t>> matrix(classes, std::vector<std::int64_t>(classes));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    ++matrix[static_cast<std::size_t>(examples[i].label)]
            [static_cast<std::size_t>(predictions[i].label)];
  }
  return matrix;
}

std::vector<ClassCounts> class_counts(const Targets& targets,
                                      const std::vector<LabelledText>& examples,
                                      const std::vector<Prediction>& predictions) {
  std::vector<ClassCounts> counts(static_cast<std::size_t>(targets.outputs()));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    for (std::int64_t number = 0; number < targets.outputs(); ++number) {
      const bool predicted = predictions[i].label == number ||
                             std::ranges::binary_search(predictions[i].labels, number);
      const bool actual = has_class(examples[i], number);
      ClassCounts& count = counts[static_cast<std::size_t>(number)];
      count.predicted += predicted;
      count.actual += actual;
      count.both += predicted && actual;
    }
  }
  return counts;
}

std::string prediction_text(const std::vector<std::string>& words, const Prediction& prediction) {
  if (words.empty()) return fmt::format("{:.3f}", prediction.score);  // a regression
  if (prediction.label >= 0) return words[static_cast<std::size_t>(prediction.label)];
  std::string text;
  for (const std::int64_t number : prediction.labels) {
    text += (text.empty() ? "" : "|") + words[static_cast<std::size_t>(number)];
  }
  return text;
}

std::string label_text(const Targets& targets, const LabelledText& example) {
  return prediction_text(
      targets.classes, {.label = example.label, .labels = example.labels, .score = example.score});
}

}  // namespace roformer
