// Whether the validation data of a task embedding have scores, which decides its figures.
#pragma once

#include "config/embedding_settings.h"

namespace roformer {

// With scores, a validation correlates them with the cosines; without, it counts how often a text
// finds its partner.
inline bool validates_by_scores(const EmbeddingSettings& settings) {
  return settings.loss == EmbeddingLoss::cosine || !settings.score.empty();
}

}  // namespace roformer
