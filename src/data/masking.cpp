#include "data/masking.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace roformer {
namespace {

// More pieces than a word of a text with spaces has. A longer one is no word (base pairs, a page of
// a script whose words nobody told apart): masked whole it would take half a row or nothing of it.
constexpr std::size_t kMostPiecesOfWord = 32;

}  // namespace

Masker::Masker(const Tokenizer& tokenizer, const MaskingSettings& settings)
    : settings_(settings), tokenizer_(tokenizer), mask_(tokenizer.special().mask) {
  if (mask_ < 0) {
    throw_usage(
        "tokenizer",
        "has no mask token, which masked language modelling needs: " + tokenizer.description(),
        "train one with `roformer tokenizer train`, which adds it");
  }
  const auto size = static_cast<std::size_t>(tokenizer.vocabulary_size());
  is_special_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = static_cast<TokenId>(i);
    is_special_[i] = tokenizer.is_special(id);
    if (!is_special_[i]) candidates_.push_back(id);
  }
  ROFORMER_ASSERT(!candidates_.empty());
}

std::vector<char> Masker::find_draws(std::span<const TokenId> ids) const {
  std::vector<char> draws(ids.size(), 1);
  if (!settings_.whole_words) return draws;
  tokenizer_.find_words(ids, draws);
  const auto is_special = [&](std::size_t i) {
    return is_special_[static_cast<std::size_t>(ids[i])] != 0;
  };
  for (std::size_t begin = 0; begin < ids.size();) {
    std::size_t end = begin + 1;
    if (!is_special(begin)) {
      draws[begin] = 1;  // a piece after a special token begins a word, whatever it is
      while (end < ids.size() && draws[end] == 0 && !is_special(end)) ++end;
      if (end - begin > kMostPiecesOfWord) {
        std::fill(draws.begin() + static_cast<std::ptrdiff_t>(begin),
                  draws.begin() + static_cast<std::ptrdiff_t>(end), char{1});
      }
    }
    begin = end;
  }
  return draws;
}

void Masker::mask(std::span<TokenId> ids, std::uint64_t key, std::vector<std::int32_t>& positions,
                  std::vector<TokenId>& labels) const {
  Random random(key);
  const std::vector<char> draws = find_draws(ids);
  bool chosen = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (is_special_[static_cast<std::size_t>(ids[i])]) continue;
    if (draws[i] != 0) chosen = random.uniform() < settings_.probability;
    if (!chosen) continue;
    positions.push_back(static_cast<std::int32_t>(i));
    labels.push_back(ids[i]);
    const double fate = random.uniform();
    if (fate < settings_.mask) {
      ids[i] = mask_;
    } else if (fate < settings_.mask + settings_.random) {
      ids[i] = candidates_[random.below(candidates_.size())];
    }
  }
}

}  // namespace roformer
