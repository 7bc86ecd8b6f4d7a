// Translation with an encoder-decoder: pairs of a prepared parallel corpus, the label-smoothed
// loss, validation by negative log likelihood and by BLEU and chrF of real decoding.
#pragma once

#include <string>
#include <vector>

#include "tasks/registry.h"
#include "tasks/translator.h"

namespace roformer {

OpenedTask open_translation_task(const TaskSources& sources);

// What a set of a parallel corpus comes to under a translator.
struct TranslationEvaluation {
  std::string target_language;  // "de"
  double loss = 0;              // mean negative log likelihood of a target token, its end included
  double smoothed_loss = 0;     // the same as it is trained
  double accuracy = 0;          // share of target tokens that are the most probable
  double bleu = 0;              // sacreBLEU's (bleu_for), of the sentences that were decoded
  double chrf = 0;
  std::string bleu_signature;
  std::int64_t tokens = 0;
  // The decoded sentences, at least as many as sentence numbers from 0 on.
  std::vector<std::string> hypotheses, references, sources;
};

TranslationEvaluation evaluate_translator(const Translator& translator, const Settings& settings,
                                          const ParallelDataset& dataset, ParallelSplit split,
                                          Processes& processes);

}  // namespace roformer
