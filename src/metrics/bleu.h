// BLEU (Papineni et al., 2002) as sacreBLEU computes it: from detokenised text, with a signature
// that names the tokenizer. Also the older tokenised BLEU with split compounds that Vaswani et al.
// and the RoFormer paper report (tokenizer moses_compound), whose signature says that it is not
// sacreBLEU's. The trainer's validation adds sentence by sentence:
//
//   CorpusBleu bleu;
//   bleu.add("A hypothesis.", {"Its reference."});
//   fmt::print("{:.1f}\n", bleu.score().score);
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "metrics/ngram_trie.h"
#include "metrics/tokenizers.h"
#include "metrics/translation_metric.h"

namespace roformer {

enum class BleuTokenizer {  // in the order of the table in bleu.cpp
  mteval_13a,               // 13a, the default
  international,            // intl
  characters,               // char
  none,                     // none: the text is tokenized already
  chinese,                  // zh
  moses_compound,  // Moses tokenizer, compounds split at the hyphen, multi-bleu.perl's arithmetic
};

enum class BleuSmoothing { exponential, floor, add_k, none };

struct BleuSettings {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  MosesLanguage language = MosesLanguage::german;  // of moses_compound
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exponential;  // moses_compound knows none but none
  std::optional<double> smoothing_value;                 // of floor (0.1) and add_k (1)
  // Leaves out the orders that a short sentence cannot have; for scores of single sentences.
  bool effective_order = false;
};

// The settings that fit a target language, by its code ("de", "zh-cn"). 13a splits no Chinese or
// Japanese sentence into words: Chinese gets sacreBLEU's own choice, Japanese characters, because
// sacreBLEU's choice needs a dictionary.
BleuSettings bleu_for(std::string_view language);

struct BleuScore {
  static constexpr std::size_t kOrders = 4;

  double score = 0;                          // 0 to 100
  std::array<double, kOrders> precisions{};  // per cent
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0;  // tokens
  std::int64_t reference_length = 0;   // tokens, of the reference closest in length
  std::string signature;

  // "58.8/32.5/20.2/13.1 (BP = 1.000 ratio = 1.023 hyp_len = 62673 ref_len = 61287)"
  std::string details() const;
};

class Bleu : public TranslationMetric {
 public:
  explicit Bleu(BleuSettings settings);

  std::string name() const override;
  // Lengths of hypothesis and reference, matches of orders 1 to 4, n-grams of the hypothesis.
  std::size_t width() const override { return 2 + 2 * BleuScore::kOrders; }
  std::vector<double> row(std::string_view hypothesis,
                          std::span<const std::string_view> references) override;
  NumpyFloat score(std::span<const double> sums, SumKind kind) const override;
  TranslationScore describe(std::span<const double> sums) const override;
  // Without the signature.
  BleuScore full_score(std::span<const double> sums) const;

 protected:
  std::vector<std::pair<std::string, std::string>> settings() const override;

 private:
  struct Parts;

  BleuSettings settings_;
  WordNumbers words_;
  NgramTrie ngrams_;

  std::u32string tokens(std::string_view line);
  Parts parts(std::span<const double> sums, SumKind kind) const;
};

// BLEU of what has been added so far.
class CorpusBleu {
 public:
  explicit CorpusBleu(BleuSettings settings = {}) : metric_(settings), sums_(metric_.width()) {}

  void add(std::string_view hypothesis, std::initializer_list<std::string_view> references);
  void add(std::string_view hypothesis, std::span<const std::string_view> references);
  std::int64_t sentences() const { return sentences_; }
  BleuScore score() const;

 private:
  Bleu metric_;
  std::vector<double> sums_;
  std::int64_t sentences_ = 0;
  std::size_t references_ = 1;  // a sentence
};

}  // namespace roformer
