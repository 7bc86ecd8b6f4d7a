// A sentence or a pair of sentences as ids, in BERT's form: [CLS] first [SEP] or [CLS] first [SEP]
// second [SEP], cut to a length as Hugging Face's tokenizers cut ("longest first").
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

// How many tokens of two texts remain in `room`: the longer one gives first; where both must, each
// has half, and the odd place goes to the longer one (to the second of equals).
std::pair<std::int64_t, std::int64_t> longest_first(std::int64_t first, std::int64_t second,
                                                    std::int64_t room);

// The tokenizer must have [CLS] and [SEP]; `length` is that of the result at most, at least 3;
// `truncation` says which end of a text stays. Safe to call from several threads.
EncodedText encode_text(const Tokenizer& tokenizer, std::string_view first,
                        const std::optional<std::string_view>& second, std::int64_t length,
                        TextTruncation truncation = TextTruncation::head);

// Throws Error (usage) where the tokenizer has no [CLS] or [SEP].
void require_sentence_tokens(const Tokenizer& tokenizer);

// Several texts end to end.
struct TextBatch {
  std::vector<std::int64_t> ids;      // [T]
  std::vector<std::int64_t> types;    // [T] 0 or 1
  std::vector<std::int64_t> lengths;  // [B]
};
void append(const EncodedText& text, TextBatch& batch);

}  // namespace roformer
