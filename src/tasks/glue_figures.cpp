#include "tasks/glue_figures.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "metrics/agreement.h"
#include "tasks/model_setup.h"
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

std::vector<std::int64_t> predicted_classes(const at::Tensor& outputs) {
  const at::Tensor classes = outputs.argmax(1);
  const auto* const first = classes.const_data_ptr<std::int64_t>();
  return {first, first + classes.numel()};
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

}  // namespace roformer
