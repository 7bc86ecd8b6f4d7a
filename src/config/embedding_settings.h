// Section `embedding` of the configuration.
#pragma once

#include <string>
#include <vector>

#include "config/classification_settings.h"

namespace roformer {

// in_batch: each text finds its partner among all partners of the batch (Henderson 2017; van den
// Oord 2018); cosine: the squared error between the cosine and a given score.
enum class EmbeddingLoss { in_batch, cosine };

struct EmbeddingSettings {
  // Names or numbers of two columns (a pair) or three (with a text that is no partner); empty:
  // well-known names.
  std::vector<std::string> text;
  std::string score;  // the column of the similarity in validation data; empty: "score"
  EmbeddingLoss loss = EmbeddingLoss::in_batch;
  double temperature = 0.05;  // divides the cosines of the in-batch loss
  bool symmetric = false;     // the in-batch loss in both directions
  TextPooling pooling = TextPooling::mean;
  bool normalize = true;  // vectors of length 1
};

}  // namespace roformer
