// Section `translation` of the configuration: settings of an encoder-decoder beyond the section
// `model`, which describes both of its stacks.
#pragma once

#include <cstdint>

#include "config/word_list.h"

namespace roformer {

// The validation figure that ranks checkpoints.
enum class TranslationRanking { bleu, chrf, loss, smoothed_loss, accuracy };
ROFORMER_WORDS(TranslationRanking, "bleu", "chrf", "loss", "smoothed_loss", "accuracy");

struct TranslationSettings {
  std::int64_t decoder_layers = 0;  // 0: as many as model.layers, the encoder's
  bool tie_embeddings = true;       // the source and the target share one table
  bool tie_output = true;           // the output projection is the target's table
  bool output_bias = false;
  double activation_dropout = 0;  // inside the feed-forward sub-layers
  double label_smoothing = 0.1;   // Szegedy 2016, section 7; Vaswani 2017: 0.1
  TranslationRanking ranked_by = TranslationRanking::bleu;
};

}  // namespace roformer
