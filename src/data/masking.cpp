#include "data/masking.h"

#include "base/error.h"
#include "base/random.h"

namespace roformer {

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

void Masker::mask(std::span<TokenId> ids, std::uint64_t key, std::vector<std::int32_t>& positions,
                  std::vector<TokenId>& labels) const {
  Random random(key);
  std::vector<char> begins_word;
  if (settings_.whole_words) tokenizer_.find_words(ids, begins_word);
  bool word_chosen = false;
  bool after_special = true;  // a piece after a special token begins a word of its own
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    if (is_special_[id]) {
      after_special = true;
      continue;
    }
    const bool draws = !settings_.whole_words || after_special || begins_word[i] != 0;
    after_special = false;
    if (draws) word_chosen = random.uniform() < settings_.probability;
    if (!word_chosen) continue;
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
