// How alike two texts are by their words alone, without any order: the cosine between counts that
// are weighted by how few texts have the word (TF-IDF, as scikit-learn's TfidfVectorizer with its
// defaults). The baseline that a model of texts has to beat.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

class BagOfWords {
 public:
  // Counts in how many of the texts each piece occurs.
  explicit BagOfWords(const std::vector<std::vector<TokenId>>& texts);

  // In [0, 1]; 0 where a text has no piece that was counted.
  double cosine(const std::vector<TokenId>& first, const std::vector<TokenId>& second) const;

 private:
  std::unordered_map<TokenId, double> weights_;

  // Of length 1, or empty.
  std::unordered_map<TokenId, double> vector_of(const std::vector<TokenId>& text) const;
};

}  // namespace roformer
