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
constexpr std::int64_t kFewestSentences = 20;  // the BLEU of fewer says nothing

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

// The first words of the buckets, from which the one behind a few sentences is taken away: they
// join the shorter ones, and with none those, the longer ones.
std::vector<std::int64_t> bucket_starts(const std::vector<std::int64_t>& words) {
  std::vector<std::int64_t> starts(kFirst.begin(), kFirst.end());
  for (std::size_t i = starts.size(); i-- > 0 && starts.size() > 1;) {
    const std::int64_t low = starts[i];
    const std::int64_t high =
        i + 1 < starts.size() ? starts[i + 1] : std::numeric_limits<std::int64_t>::max();
    const auto sentences =
        std::count_if(words.begin(), words.end(),
                      [low, high](std::int64_t count) { return count >= low && count < high; });
    if (sentences >= kFewestSentences) continue;
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(i == 0 ? 1 : i));
  }
  return starts;
}

}  // namespace

std::vector<SourceLengthBucket> bleu_by_source_length(const std::vector<std::string>& sources,
                                                      const std::vector<std::string>& references,
                                                      const std::vector<std::string>& hypotheses,
                                                      const std::string& target_language) {
  ROFORMER_ASSERT(sources.size() == references.size() && sources.size() == hypotheses.size());
  std::vector<std::int64_t> words;
  for (const std::string& source : sources) {
    words.push_back(std::max<std::int64_t>(1, words_of(source)));
  }
  const std::vector<std::int64_t> starts = bucket_starts(words);
  std::vector<SourceLengthBucket> result;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool last = i + 1 == starts.size();
    const std::int64_t low = starts[i];
    const std::int64_t high = last ? std::numeric_limits<std::int64_t>::max() : starts[i + 1];
    CorpusBleu bleu(bleu_for(target_language));
    double all_words = 0;
    for (std::size_t k = 0; k < hypotheses.size(); ++k) {
      if (words[k] < low || words[k] >= high) continue;
      bleu.add(hypotheses[k], {references[k]});
      all_words += static_cast<double>(words[k]);
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
