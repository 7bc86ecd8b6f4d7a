// Pseudo-perplexity of a masked language model (Salazar 2020, "Masked Language Model Scoring"):
// each token of a text is masked in turn and predicted from all the others.
#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "tasks/language/language_model.h"

namespace roformer {

struct PseudoPerplexityOptions {
  Split split = Split::validation;
  std::int64_t sequences = 16;  // rows of the split, from its beginning
  std::int64_t length = 128;    // of a row
  bool cross_documents = true;  // as data.cross_documents
  std::int64_t shift = 0;       // the text begins at this position
};

struct PseudoPerplexity {
  std::int64_t sequences = 0;  // rows that there were
  std::int64_t tokens = 0;     // that were masked: all but the special ones
  double loss = 0;             // mean negative pseudo-log-likelihood of a token, nats
  double value = 0;            // exp(loss)
};

// Shows its progress on standard error. Throws Error (failure) where the split fills no row, and
// ValidationStopped (training/signals.h).
PseudoPerplexity pseudo_perplexity(const LanguageModel& model, const Dataset& dataset,
                                   const PseudoPerplexityOptions& options);

}  // namespace roformer
