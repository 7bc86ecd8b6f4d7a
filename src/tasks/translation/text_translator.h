// Translates lines of text with a trained run, or an ensemble of runs, and scores given
// translations: `roformer translate` without its formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tasks/translation/alignment.h"
#include "tasks/translation/translation_search.h"
#include "tasks/translation/translator.h"

namespace roformer {

struct TranslatedText {
  std::string text;
  double score = 0;            // after the length penalty
  double log_probability = 0;  // of the text and its end
  std::vector<std::string> pieces;
  std::vector<double> token_log_probabilities;  // of the pieces, and of the end
  Alignment alignment;                          // of the pieces, if requested
};

struct TranslatedLine {
  std::vector<std::string> pieces;           // of the source, without its end
  std::vector<TranslatedText> translations;  // best first, or samples; none of a blank line
  bool cut = false;                          // the source was longer than allowed
};

struct TranslationRequest {
  std::int64_t n_best = 1;
  std::int64_t longest_source = 1024;  // tokens; the rest of a line is cut off
  std::string prefix;                  // the required beginning of every translation
  bool alignment = false;
  std::optional<SamplingSettings> sampling;  // draw n_best samples instead of the search
  std::uint64_t seed = 1;                    // seed of the samples
  // number of the first line; each sample depends on its line's number
  std::uint64_t first_line = 0;
};

class TextTranslator {
 public:
  // The runs' parameters must not change from now on. Throws Error (usage) if the runs have
  // different vocabularies.
  explicit TextTranslator(std::vector<TrainedTranslator> runs);

  // The translations in the order of the lines.
  std::vector<TranslatedLine> translate(const std::vector<std::string>& lines,
                                        const TranslationRequest& request) const;
  // Scores the given translation of each line. `translations` has one entry per line.
  std::vector<TranslatedLine> score(const std::vector<std::string>& lines,
                                    const std::vector<std::string>& translations,
                                    const TranslationRequest& request) const;

  const Settings& settings() const { return runs_.front().settings; }
  // The largest number of source tokens, the end token included, before a line is cut: the
  // request's limit, or the size of the shortest table of positions.
  std::int64_t longest_source(const TranslationRequest& request) const;

 private:
  std::vector<TrainedTranslator> runs_;
  InferenceWeights weights_;

  std::vector<const Translator*> translators() const;
  void check_beginnings(const std::vector<std::vector<TokenId>>& begins,
                        const std::vector<std::size_t>& numbers, std::uint64_t first_line) const;
  std::vector<TranslatedLine> search(const std::vector<std::string>& lines,
                                     const std::vector<std::vector<TokenId>>& prefixes,
                                     const TranslationRequest& request,
                                     bool ends_with_prefix) const;
  // The translations of all lines.
  void add_alignments(const std::vector<std::vector<TokenId>>& sources,
                      const std::vector<std::vector<Hypothesis>>& found,
                      const std::vector<std::size_t>& numbers,
                      std::vector<TranslatedLine>& results) const;
};

}  // namespace roformer
