#include "data/bag_of_words.h"

#include <cmath>
#include <unordered_set>

namespace roformer {

BagOfWords::BagOfWords(const std::vector<std::vector<TokenId>>& texts) {
  for (const std::vector<TokenId>& text : texts) {
    for (const TokenId piece : std::unordered_set<TokenId>(text.begin(), text.end())) {
      ++weights_[piece];
    }
  }
  const auto count = static_cast<double>(texts.size());
  for (auto& [piece, weight] : weights_) weight = std::log((1 + count) / (1 + weight)) + 1;
}

std::unordered_map<TokenId, double> BagOfWords::vector_of(const std::vector<TokenId>& text) const {
  std::unordered_map<TokenId, double> vector;
  for (const TokenId piece : text) {
    if (const auto found = weights_.find(piece); found != weights_.end()) {
      vector[piece] += found->second;
    }
  }
  double square = 0;
  for (const auto& [piece, value] : vector) square += value * value;
  for (auto& [piece, value] : vector) value /= std::sqrt(square);
  return vector;
}

double BagOfWords::cosine(const std::vector<TokenId>& first,
                          const std::vector<TokenId>& second) const {
  const std::unordered_map<TokenId, double> a = vector_of(first), b = vector_of(second);
  double product = 0;
  for (const auto& [piece, value] : a) {
    if (const auto found = b.find(piece); found != b.end()) product += value * found->second;
  }
  return product;
}

}  // namespace roformer
