// Section `translation` of the configuration: what an encoder-decoder has beside the model's
// section, which describes both of its stacks.
#pragma once

#include <cstdint>

#include "config/word_list.h"

namespace roformer {

// The figure of a validation that ranks checkpoints.
enum class TranslationRanking { bleu, chrf, loss, smoothed_loss, accuracy };
ROFORMER_WORDS(TranslationRanking, "bleu", "chrf", "loss", "smoothed_loss", "accuracy");

struct TranslationSettings {
  std::int64_t decoder_layers = 0;  // 0: as many as the encoder, model.layers
  bool tie_embeddings = true;       // source and target share one table
  bool tie_output = true;           // the output projection is the target's table
  bool output_bias = false;
  double activation_dropout = 0;  // inside the feed-forward sub-layers
  double label_smoothing = 0.1;   // Szegedy 2016, section 7; Vaswani 2017: 0.1
  TranslationRanking ranked_by = TranslationRanking::bleu;
};

}  // namespace roformer
