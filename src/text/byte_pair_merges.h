// Byte-pair encoding over ids (Sennrich et al. 2016): among all neighbours that a rule joins, those
// of the earliest rule are joined first, from left to right. A heap of candidates makes that n log
// n in the length of the word.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

struct BytePairMerge {
  TokenId left = 0, right = 0, merged = 0;
};

class BytePairMerges {
 public:
  // The rules in their order. The later of two rules for the same pair counts. `by_result`: rules
  // with the same result are equally early (tiktoken).
  explicit BytePairMerges(const std::vector<BytePairMerge>& merges, bool by_result = false);

  void apply(std::vector<TokenId>& symbols) const;

 private:
  struct Rule {
    std::int32_t rank = 0;
    TokenId merged = 0;
  };
  struct PairHash {
    std::size_t operator()(std::uint64_t pair) const {
      pair = (pair ^ pair >> 31) * 0x9e3779b97f4a7c15ULL;
      return pair ^ pair >> 29;
    }
  };
  std::unordered_map<std::uint64_t, Rule, PairHash> rules_;
  std::vector<TokenId> results_;  // by rank; empty where a rank is its result

  TokenId result_of(std::int32_t rank) const {
    return results_.empty() ? rank : results_[static_cast<std::size_t>(rank)];
  }
  const Rule* find(TokenId left, TokenId right) const;
};

}  // namespace roformer
