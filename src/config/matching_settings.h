// Section `matching` of the configuration.
#pragma once

#include "config/glue_settings.h"

namespace roformer {

enum class MatchingLoss { pairs, triplet };
enum class TextTruncation { head, tail, head_and_tail };

struct AugmentationSettings {
  bool swap = false;
  bool transitivity = false;
};

struct MatchingSettings {
  MatchingLoss loss = MatchingLoss::pairs;
  double margin = 1;  // the triplet loss's, between the scores
  TextPooling pooling = TextPooling::mean;
  ClassifierHead head = ClassifierHead::linear;
  double head_dropout = 0.1;
  TextTruncation truncation = TextTruncation::head;
  AugmentationSettings augmentation;
};

}  // namespace roformer
