#include "runs/source_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "metrics/bleu.h"

namespace roformer {
namespace {

constexpr std::array<std::int64_t, 6> kFirst = {1, 11, 21, 31, 41, 61};  // words of each bucket

std::int64_t words_of(const std::string& line) {
  std::int64_t words = 0;
  bool inside = false;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t';
    words += !space && !inside ? 1 : 0;
    inside = !space;
  }
  return words;
}

}  // namespace

std::vector<SourceLengthBucket> bleu_by_source_length(const std::vector<std::string>& sources,
                                                      const std::vector<std::string>& references,
                                                      const std::vector<std::string>& hypotheses) {
  ROFORMER_ASSERT(sources.size() == references.size() && sources.size() == hypotheses.size());
  std::vector<SourceLengthBucket> result;
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    const bool last = i + 1 == kFirst.size();
    const std::int64_t low = kFirst[i];
    const std::int64_t high = last ? std::numeric_limits<std::int64_t>::max() : kFirst[i + 1];
    CorpusBleu bleu;
    double all_words = 0;
    for (std::size_t k = 0; k < hypotheses.size(); ++k) {
      const std::int64_t words = std::max<std::int64_t>(1, words_of(sources[k]));
      if (words < low || words >= high) continue;
      bleu.add(hypotheses[k], {references[k]});
      all_words += static_cast<double>(words);
    }
    if (bleu.sentences() == 0) continue;
    result.push_back(
        {.name = last ? fmt::format("{} and more", low) : fmt::format("{} to {}", low, high - 1),
         .sentences = bleu.sentences(),
         .mean_words = all_words / static_cast<double>(bleu.sentences()),
         .bleu = bleu.score().score});
  }
  return result;
}

}  // namespace roformer
