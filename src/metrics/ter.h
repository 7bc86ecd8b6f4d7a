// Translation edit rate (Snover et al., 2006): insertions, deletions, substitutions and shifts of
// word sequences that turn the hypothesis into the reference, in per cent of the reference's words.
// Lower is better. Tercom's heuristics as sacreBLEU has them.
#pragma once

#include "metrics/ngram_trie.h"
#include "metrics/translation_metric.h"

namespace roformer {

struct TerSettings {
  bool normalized = false;  // parts punctuation from words, decodes entities
  bool no_punctuation = false;
  bool asian_support = false;  // the two above reach East Asian characters too
  bool case_sensitive = false;
};

// Tercom's tokenizer: tokens between spaces.
std::string tokenize_tercom(std::string_view line, const TerSettings& settings);

class Ter : public TranslationMetric {
 public:
  explicit Ter(TerSettings settings) : settings_(settings) {}

  std::string name() const override { return "TER"; }
  // Edits against the closest reference, mean length of the references.
  std::size_t width() const override { return 2; }
  std::vector<double> row(std::string_view hypothesis,
                          std::span<const std::string_view> references) override;
  NumpyFloat score(std::span<const double> sums, SumKind kind) const override;
  TranslationScore describe(std::span<const double> sums) const override;

 protected:
  std::vector<std::pair<std::string, std::string>> settings() const override;

 private:
  TerSettings settings_;
  WordNumbers words_;

  std::u32string words_of(std::string_view tokens);
};

}  // namespace roformer
