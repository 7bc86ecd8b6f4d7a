// A classifier's outputs in the terms of a GLUE task: the metrics of a labelled set, labels with
// probabilities, scores, the files for the benchmark's server, and mistakes. N examples, C outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/glue.h"
#include "data/text_lines.h"
#include "tasks/classifier.h"

namespace roformer {

struct GlueFigures {
  // The figures: loss; accuracy of classification; f1 (MRPC, QQP), matthews (CoLA); pearson and
  // spearman (STS-B). collapsed is 1 if every prediction is the same class or score, else 0.
  std::map<std::string, double> values;
  // Metrics that are undefined for these predictions. They count as 0.
  std::vector<std::string> undefined;
};

// outputs [N, C] float on the CPU, for labelled examples.
GlueFigures glue_figures(GlueTask task, const at::Tensor& outputs,
                         const std::vector<GlueExample>& examples);

// Returns the figures and warns about each undefined one.
std::map<std::string, double> glue_figures_with_warnings(GlueTask task, const at::Tensor& outputs,
                                                         const std::vector<GlueExample>& examples);

// The single output of a regression, [N].
std::vector<double> predicted_scores(const at::Tensor& outputs);

// The sum over the examples of the cross entropy, or of the squared error of a score. outputs [B,
// C] with a graph, on any device.
at::Tensor glue_loss_sum(GlueTask task, const at::Tensor& outputs,
                         const std::vector<const GlueExample*>& examples);

struct GluePrediction {
  std::int64_t label = -1;            // class number; -1 for a score
  std::vector<double> probabilities;  // of each class, from the softmax
  double score = 0;                   // the model's output in a regression
  bool cut = false;                   // the text is longer than data.length
};

// outputs [N, C] -> N predictions.
std::vector<GluePrediction> glue_predictions(GlueTask task, const at::Tensor& outputs);

// Texts that the user supplies. Texts longer than data.length are cut.
std::vector<GluePrediction> predict_lines(const TrainedClassifier& trained,
                                          const std::vector<TextLine>& lines);

// "index<TAB>prediction": names of the labels, or scores clamped to 0 to 5.
std::string glue_submission(GlueTask task, const std::vector<GlueExample>& examples,
                            const std::vector<GluePrediction>& predictions);

struct GlueMistake {
  std::size_t example = 0;  // in the set
  double weight = 0;        // probability of the wrong label, or the error of the score
};
// The examples with a wrong predicted label, the most confident first. For a regression, the
// examples with the largest errors come first. At most `count`.
std::vector<GlueMistake> glue_mistakes(GlueTask task, const std::vector<GlueExample>& examples,
                                       const std::vector<GluePrediction>& predictions,
                                       std::size_t count);

// Which predicted labels are the examples' own, for a task that is not a regression.
std::vector<bool> right_labels(const std::vector<GlueExample>& examples,
                               const std::vector<GluePrediction>& predictions);

// The label as the run names its classes, or the score with three digits.
std::string prediction_text(GlueTask task, const GluePrediction& prediction);
std::string prediction_text(const GlueSettings& settings, const GluePrediction& prediction);
std::string label_text(GlueTask task, const GlueExample& example);

}  // namespace roformer
