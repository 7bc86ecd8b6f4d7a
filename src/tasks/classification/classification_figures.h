// A classifier's outputs in the terms of its targets: the metrics of a labelled set, labels with
// probabilities, scores, the confusion of classes, mistakes, and the files for GLUE's server. N
// examples, C outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/labelled_texts.h"
#include "metrics/agreement.h"
#include "tasks/classification/targets.h"
#include "tasks/text_model.h"

namespace roformer {

struct ClassificationFigures {
  // loss, the metrics of Targets::figures, and collapsed: 1 if every prediction is the same class,
  // set of classes or score, else 0.
  std::map<std::string, double> values;
  // Metrics that are undefined for these predictions. They count as 0.
  std::vector<std::string> undefined;
};

// outputs [N, C] float on the CPU, for labelled examples.
ClassificationFigures classification_figures(const Targets& targets, const at::Tensor& outputs,
                                             const std::vector<LabelledText>& examples);

// Returns the figures and warns about each undefined one.
std::map<std::string, double> figures_with_warnings(const Targets& targets,
                                                    const at::Tensor& outputs,
                                                    const std::vector<LabelledText>& examples);

// The single output of a regression, [N].
std::vector<double> predicted_scores(const at::Tensor& outputs);

// The weight of each class in the loss, [C]; undefined: 1. Several labels per example: the weight
// of an example that has the class.
//   single: N / (C N_c) (scikit-learn's "balanced"); multi: (N - N_c) / N_c
at::Tensor balanced_class_weights(const Targets& targets,
                                  const std::vector<LabelledText>& examples);

// The sum over the examples of the cross entropy, of the mean binary cross entropy of the classes,
// or of the squared error of a score. outputs [B, C] with a graph, on any device. `weights`: [C] on
// the CPU or undefined.
at::Tensor classification_loss_sum(const Targets& targets, const at::Tensor& outputs,
                                   const std::vector<const LabelledText*>& examples,
                                   const at::Tensor& weights = {});

struct Prediction {
  std::int64_t label = -1;            // class number, of one class
  std::vector<std::int64_t> labels;   // of several: the classes with a probability of 0.5 and more
  std::vector<double> probabilities;  // of each class: softmax, or sigmoid for several
  double score = 0;                   // the model's output in a regression
  bool cut = false;                   // the text is longer than data.length
};

// outputs [N, C] -> N predictions.
std::vector<Prediction> predictions_of(const Targets& targets, const at::Tensor& outputs);

// "index<TAB>prediction": labels, or scores clamped to 0 to 5.
std::string glue_submission(GlueTask task, const std::vector<LabelledText>& examples,
                            const std::vector<Prediction>& predictions);

struct Mistake {
  std::size_t example = 0;  // in the set
  double weight = 0;        // probability of the wrong label, or the error of the score
};
// The examples with a wrong predicted label, the most confident first. For a regression, the
// examples with the largest errors come first. At most `count`.
std::vector<Mistake> mistakes_of(const Targets& targets, const std::vector<LabelledText>& examples,
                                 const std::vector<Prediction>& predictions, std::size_t count);

// Which predicted labels are the examples' own, for a task that is not a regression.
std::vector<bool> right_labels(const std::vector<LabelledText>& examples,
                               const std::vector<Prediction>& predictions);

// confusion[actual][predicted]: how many examples, for one class per example. [C][C]
std::vector<std::vector<std::int64_t>> confusion_matrix(const Targets& targets,
                                                        const std::vector<LabelledText>& examples,
                                                        const std::vector<Prediction>& predictions);
// How often each class is predicted, true and both. [C]
std::vector<ClassCounts> class_counts(const Targets& targets,
                                      const std::vector<LabelledText>& examples,
                                      const std::vector<Prediction>& predictions);

// The label in these words (Targets::classes or names), several joined by |, or the score with
// three digits.
std::string prediction_text(const std::vector<std::string>& words, const Prediction& prediction);
std::string label_text(const Targets& targets, const LabelledText& example);

}  // namespace roformer
