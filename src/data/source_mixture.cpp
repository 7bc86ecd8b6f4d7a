#include "data/source_mixture.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace roformer {
namespace {

// Whole numbers above 0 that sum to the pattern and are nearest to the weights' shares of it.
std::vector<std::int64_t> shares_of(const std::vector<double>& weights, std::int64_t pattern) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> shares;
  for (const double weight : weights) {
    const double exact = weight / sum * static_cast<double>(pattern);
    shares.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(exact)));
  }
  const auto lacking = [&](std::size_t i) {
    return weights[i] / sum * static_cast<double>(pattern) - static_cast<double>(shares[i]);
  };
  std::int64_t left = pattern - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  for (; left != 0; left -= left > 0 ? 1 : -1) {
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < shares.size(); ++i) {
      if (left > 0 ? lacking(i) > lacking(chosen)
                   : shares[chosen] == 1 || (shares[i] > 1 && lacking(i) < lacking(chosen))) {
        chosen = i;
      }
    }
    shares[chosen] += left > 0 ? 1 : -1;
  }
  return shares;
}

}  // namespace

SourceMixture::SourceMixture(const std::vector<double>& weights)
    : shares_(shares_of(weights, kPattern)) {
  ROFORMER_ASSERT(!weights.empty() && std::ssize(weights) <= kPattern);
  // The next row is of the source that is furthest behind its share.
  std::vector<std::int64_t> taken(weights.size());
  for (std::int64_t n = 0; n < kPattern; ++n) {
    std::size_t next = 0;
    std::int64_t most = -kPattern * kPattern;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t behind = shares_[i] * (n + 1) - taken[i] * kPattern;
      if (taken[i] < shares_[i] && behind > most) {
        most = behind;
        next = i;
      }
    }
    pattern_.push_back({.source = next, .number = taken[next]++});
  }
}

SourceMixture::Entry SourceMixture::operator[](std::int64_t n) const {
  Entry entry = pattern_[static_cast<std::size_t>(n % kPattern)];
  entry.number += n / kPattern * shares_[entry.source];
  return entry;
}

}  // namespace roformer
