// `roformer evaluate` for a translator's run: likelihood, BLEU and chrF of a set, and BLEU by the
// length of the source, where positional schemes should differ.
#pragma once

#include <string>

#include "data/split.h"
#include "runs/trained_model.h"

namespace roformer {

struct TranslatorEvaluation {
  std::string data;  // folder; empty: the one that it was trained on
  Split split = Split::validation;
  std::string output;  // file for the translations, a line each; empty: none
  bool json = false;
};

// Prints to standard output.
void evaluate_translator(const TrainedTranslator& trained, const TranslatorEvaluation& options);

}  // namespace roformer
