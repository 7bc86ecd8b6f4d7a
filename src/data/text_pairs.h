// A sentence or a pair of sentences as ids, in BERT's form: [CLS] first [SEP] or [CLS] first [SEP]
// second [SEP]; a tokenizer may have two separators between them, as RoBERTa's has. They are cut to
// a length as Hugging Face's tokenizers do ("longest first").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/matching_settings.h"
#include "text/tokenizer.h"

namespace roformer {

struct EncodedText {
  std::vector<TokenId> ids;
  std::int64_t second = 0;   // where the second sentence begins (token type 1); its end without one
  bool cut = false;          // something was left out
  std::int64_t longest = 0;  // tokens of the longer text, before it was cut

  std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
};

// How many tokens of two texts remain in `room`. The longer text is cut first. If both must be cut,
// each gets half, and the longer one (the second of equals) gets the odd place.
std::pair<std::int64_t, std::int64_t> longest_first(std::int64_t first, std::int64_t second,
                                                    std::int64_t room);

// The tokenizer must have [CLS] and [SEP]. `length` is the largest length of the result, at least
// 3. `truncation` says which end of a text stays. Safe to call from several threads.
EncodedText encode_text(const Tokenizer& tokenizer, std::string_view first,
                        const std::optional<std::string_view>& second, std::int64_t length,
                        TextTruncation truncation = TextTruncation::head);

// Throws Error (usage) if the tokenizer has no [CLS] or [SEP].
void require_sentence_tokens(const Tokenizer& tokenizer);

// Several texts joined without padding.
struct TextBatch {
  std::vector<std::int64_t> ids;      // [T]
  std::vector<std::int64_t> types;    // [T] 0 or 1
  std::vector<std::int64_t> lengths;  // [B]
  std::vector<std::int64_t> places;   // [N] tokens whose states are read; empty: one state a text
  // If this is a part of a larger batch: the numbers of tokens, texts and places before the part,
  // and the length in tokens of the longest text in the batch (0: this is the whole batch).
  std::int64_t first_token = 0, first_text = 0, first_place = 0;
  std::int64_t longest_of_all = 0;
};
void append(const EncodedText& text, TextBatch& batch);
// The texts first ... last - 1 as a part of the batch.
TextBatch part_of(const TextBatch& batch, std::int64_t first, std::int64_t last);

}  // namespace roformer
