// Section `classification` of the configuration, and the head that every classifier has.
#pragma once

#include <string>
#include <vector>

namespace roformer {

// automatic: the head of the models that transformers has with this positional scheme and family,
// so that the classifier can be exported.
enum class ClassifierHead { bert, roformer, linear, modernbert, roberta, distilbert, automatic };
enum class TextPooling { first, mean };
// single: each text has one class; multi: any number of classes; regression: a number.
enum class TargetKind { single, multi, regression };
enum class ClassWeights { none, balanced };
// The figure that ranks checkpoints. automatic: accuracy, micro_f1 or spearman by the kind.
enum class ClassificationMetric {
  automatic,
  accuracy,
  macro_f1,
  micro_f1,
  matthews,
  auc,
  pearson,
  spearman,
  loss
};

// The layers between the encoder's states and the outputs.
struct ClassifierSettings {
  ClassifierHead head = ClassifierHead::bert;
  double head_dropout = 0.1;
  TextPooling pooling = TextPooling::first;
};

struct ClassificationSettings : ClassifierSettings {
  ClassificationSettings() { head = ClassifierHead::automatic; }

  TargetKind kind = TargetKind::single;
  std::vector<std::string> text;  // names or numbers of one or two columns; empty: well-known names
  std::string label;              // empty: "label"
  std::vector<std::string> classes;  // in the order of the outputs; empty: those in the data
  ClassWeights class_weights = ClassWeights::none;
  ClassificationMetric metric = ClassificationMetric::automatic;
};

}  // namespace roformer
