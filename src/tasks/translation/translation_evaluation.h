// Evaluates a translator on a set of a parallel corpus: likelihood, and BLEU and chrF of real
// decoding, also by the length of the source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/parallel_dataset.h"
#include "tasks/evaluation.h"
#include "tasks/shared_batches.h"
#include "tasks/translation/translator.h"
#include "training/distributed/processes.h"

namespace roformer {

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

// Throws Error (usage) if the set has a sentence that is too long for the schemes' tables of
// positions, since a set is evaluated whole.
void require_positions(const Translator& translator, const ParallelDataset& dataset, Split split);

// `progress` counts the sentences that one process decodes.
TranslationEvaluation evaluate_translator(const Translator& translator, const Settings& settings,
                                          const ParallelDataset& dataset, Split split,
                                          Processes& processes, const WorkProgress& progress = {});

struct SourceLengthBucket {
  std::string name;  // "11 to 20", "61 and more"
  std::int64_t sentences = 0;
  double mean_words = 0;
  double bleu = 0;  // sacreBLEU's (bleu_for), of these sentences
};

// Buckets by length, the shortest first. A bucket with fewer than 20 sentences joins its neighbour.
// `words`, `translations` and `references` have the same size.
std::vector<SourceLengthBucket> bleu_by_source_length(const std::vector<std::string>& sources,
                                                      const std::vector<std::string>& references,
                                                      const std::vector<std::string>& hypotheses,
                                                      const std::string& target_language);

EvaluationResult evaluate_translation(OpenedRun run, const EvaluationRequest& request);

}  // namespace roformer
