// BERT's masking (Devlin et al. 2018, section 3.1): 15 % of the tokens are chosen; of these 80 %
// become [MASK], 10 % a random token and 10 % stay. Every choice is a pure function of the key, so
// that any row can be masked on its own. Each token is drawn independently, as Hugging Face's
// collator does: the share holds on average, not in each row. With `whole_words` each word is drawn
// instead, all its pieces are chosen, and what they become is drawn for each piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/data_settings.h"
#include "text/tokenizer.h"

namespace roformer {

class Masker {
 public:
  // Throws Error (usage) when the vocabulary has no mask token. The tokenizer must outlive it.
  Masker(const Tokenizer& tokenizer, const MaskingSettings& settings);

  // Masks the ids where they stand and appends to `positions` the chosen ones, rising, and to
  // `labels` the ids that were there. Special tokens are never chosen and never put in.
  void mask(std::span<TokenId> ids, std::uint64_t key, std::vector<std::int32_t>& positions,
            std::vector<TokenId>& labels) const;

 private:
  MaskingSettings settings_;
  const Tokenizer& tokenizer_;
  TokenId mask_;
  std::vector<char> is_special_;     // [vocabulary]
  std::vector<TokenId> candidates_;  // for random replacement: all but the special tokens

  // For each id whether it is drawn for itself; others share the fate of the one before.
  std::vector<char> find_draws(std::span<const TokenId> ids) const;
};

}  // namespace roformer
