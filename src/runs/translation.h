// Translates lines of text with a trained run, or an ensemble of runs, and scores given
// translations. What `roformer translate` does, without its formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runs/trained_model.h"

namespace roformer {

struct TranslatedText {
  std::string text;
  double score = 0;            // after the length penalty
  double log_probability = 0;  // of the text and its end
  std::vector<std::string> pieces;
  std::vector<double> token_log_probabilities;  // of the pieces, and of the end
};

struct TranslatedLine {
  std::vector<TranslatedText> translations;  // best first; none of a blank line
  bool cut = false;                          // the source was longer than allowed
};

struct TranslationRequest {
  std::int64_t n_best = 1;
  std::int64_t longest_source = 1024;  // tokens; the rest of a line is cut off
  std::string prefix;                  // every translation begins with it
};

class TextTranslator {
 public:
  // Throws Error (usage) where the runs have different vocabularies.
  explicit TextTranslator(std::vector<TrainedTranslator> runs);

  // In the order of the lines.
  std::vector<TranslatedLine> translate(const std::vector<std::string>& lines,
                                        const TranslationRequest& request) const;
  // Of each line the given translation, as the runs see it. As many of each.
  std::vector<TranslatedLine> score(const std::vector<std::string>& lines,
                                    const std::vector<std::string>& translations,
                                    const TranslationRequest& request) const;

  const Settings& settings() const { return runs_.front().settings; }

 private:
  std::vector<TrainedTranslator> runs_;

  std::vector<TranslatedLine> search(const std::vector<std::string>& lines,
                                     const std::vector<std::vector<TokenId>>& prefixes,
                                     const TranslationRequest& request,
                                     bool ends_with_prefix) const;
};

}  // namespace roformer
