// What a classifier's outputs come to on a labelled set, by the metrics of the GLUE benchmark.
// N examples, C outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/glue.h"

namespace roformer {

struct GlueFigures {
  // loss; accuracy of classification; f1 (MRPC, QQP), matthews (CoLA); pearson and spearman
  // (STS-B). collapsed: 1 where every prediction is the same class or score, else 0.
  std::map<std::string, double> values;
  // Metrics that are not defined for these predictions, and count as 0.
  std::vector<std::string> undefined;
};

// outputs [N, C] float on the CPU, of labelled examples.
GlueFigures glue_figures(GlueTask task, const at::Tensor& outputs,
                         const std::vector<GlueExample>& examples);

// The figures, with a warning for each that is not defined.
std::map<std::string, double> glue_figures_with_warnings(GlueTask task, const at::Tensor& outputs,
                                                         const std::vector<GlueExample>& examples);

// The class with the largest output, [N].
std::vector<std::int64_t> predicted_classes(const at::Tensor& outputs);
// The single output of a regression, [N].
std::vector<double> predicted_scores(const at::Tensor& outputs);

// Sum over the examples: cross entropy, or the squared error of a score. outputs [B, C] with a
// graph, on any device.
at::Tensor glue_loss_sum(GlueTask task, const at::Tensor& outputs,
                         const std::vector<const GlueExample*>& examples);

}  // namespace roformer
