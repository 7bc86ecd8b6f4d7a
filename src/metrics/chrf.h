// chrF (Popović, 2015) and chrF++ (Popović, 2017): the F score of character n-grams and, for the
// latter, of words and word pairs, averaged over the orders, as sacreBLEU computes them.
#pragma once

#include "metrics/ngram_trie.h"
#include "metrics/translation_metric.h"

namespace roformer {

struct ChrfSettings {
  std::int64_t character_order = 6;
  std::int64_t word_order = 0;  // 2: chrF++
  std::int64_t beta = 2;        // recall weighs beta times as much as precision
  bool lowercase = false;
  bool whitespace = false;         // spaces are characters too
  bool epsilon_smoothing = false;  // as chrF++.py, NLTK and Moses; else orders without n-grams
                                   // are left out
};

class Chrf : public TranslationMetric {
 public:
  explicit Chrf(ChrfSettings settings);

  std::string name() const override;
  // For each order, characters first: n-grams of the hypothesis, of the reference, matches.
  std::size_t width() const override { return 3 * orders_; }
  // Of the reference with the best score.
  std::vector<double> row(std::string_view hypothesis,
                          std::span<const std::string_view> references) override;
  NumpyFloat score(std::span<const double> sums, SumKind kind) const override;

 protected:
  std::vector<std::pair<std::string, std::string>> settings() const override;

 private:
  struct Symbols {
    std::u32string characters;
    std::u32string words;
  };

  ChrfSettings settings_;
  std::size_t orders_;
  WordNumbers words_;
  NgramTrie character_ngrams_;
  NgramTrie word_ngrams_;

  Symbols symbols(std::string_view line);
  std::vector<double> row_of(const Symbols& hypothesis, const Symbols& reference);
};

}  // namespace roformer
