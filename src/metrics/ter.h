// Translation edit rate (Snover et al., 2006): insertions, deletions, substitutions and shifts of
// word sequences that turn the hypothesis into the reference, in per cent of the reference's words.
// Lower is better. Tercom's heuristics as sacreBLEU has them.
#pragma once

#include "metrics/ngram_trie.h"
#include "metrics/tokenizers.h"
#include "metrics/translation_metric.h"

namespace roformer {

using TerSettings = TercomRules;

// The edits that turn the hypothesis into the reference, in symbols that represent words: shifts of
// up to ten words, each taken because it shortens the edit distance the most, and then the
// distance. Greedy, and within a beam around the diagonal, so an upper bound; equal to sacreBLEU's
// translation_edit_rate.
std::int64_t count_edits(std::u32string_view hypothesis, std::u32string_view reference);

class Ter : public TranslationMetric {
 public:
  explicit Ter(TerSettings settings) : settings_(settings) {}

  std::string name() const override { return "TER"; }
  // Edits against the closest reference, mean length of the references.
  std::size_t width() const override { return 2; }
  std::vector<double> row(std::string_view hypothesis,
                          std::span<const std::string_view> references) override;
  NumpyFloat score(std::span<const double> sums, SumKind kind) const override;

 protected:
  std::vector<std::pair<std::string, std::string>> settings() const override;

 private:
  TerSettings settings_;
  WordNumbers words_;

  std::u32string words_of(std::string_view tokens);
};

}  // namespace roformer
