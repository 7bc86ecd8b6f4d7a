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
  Alignment alignment;                          // of the pieces, where asked for
};

struct TranslatedLine {
  std::vector<std::string> pieces;           // of the source, without its end
  std::vector<TranslatedText> translations;  // best first, or samples; none of a blank line
  bool cut = false;                          // the source was longer than allowed
};

struct TranslationRequest {
  std::int64_t n_best = 1;
  std::int64_t longest_source = 1024;  // tokens; the rest of a line is cut off
  std::string prefix;                  // every translation begins with it
  bool alignment = false;
  std::optional<SamplingSettings> sampling;  // n_best samples in place of the search
  std::uint64_t seed = 1;                    // of the samples
  std::uint64_t first_line = 0;  // number of the first line: a sample is one of its line
};

class TextTranslator {
 public:
  // The runs' parameters no longer change. `int8`: the products are of eight-bit weights. Throws
  // Error (usage) where the runs have different vocabularies; and with int8 where this machine has
  // no such products, or a run is not computed in fp32 on a CPU.
  explicit TextTranslator(std::vector<TrainedTranslator> runs, bool int8 = false);

  // In the order of the lines.
  std::vector<TranslatedLine> translate(const std::vector<std::string>& lines,
                                        const TranslationRequest& request) const;
  // Scores the given translation of each line. There are as many translations as lines.
  std::vector<TranslatedLine> score(const std::vector<std::string>& lines,
                                    const std::vector<std::string>& translations,
                                    const TranslationRequest& request) const;

  const Settings& settings() const { return runs_.front().settings; }
  // Tokens of a source, its end counted, beyond which a line is cut: the request's, or those of the
  // shortest table of positions.
  std::int64_t longest_source(const TranslationRequest& request) const;

 private:
  std::vector<TrainedTranslator> runs_;
  InferenceWeights weights_;

  void prepare_weights(bool int8);
  std::vector<const Translator*> translators() const;
  void check_beginnings(const std::vector<std::vector<TokenId>>& begins,
                        const std::vector<std::size_t>& numbers, std::uint64_t first_line) const;
  std::vector<TranslatedLine> search(const std::vector<std::string>& lines,
                                     const std::vector<std::vector<TokenId>>& prefixes,
                                     const TranslationRequest& request,
                                     bool ends_with_prefix) const;
  // For all translations of the lines.
  void add_alignments(const std::vector<std::vector<TokenId>>& sources,
                      const std::vector<std::vector<Hypothesis>>& found,
                      const std::vector<std::size_t>& numbers,
                      std::vector<TranslatedLine>& results) const;
};

}  // namespace roformer
