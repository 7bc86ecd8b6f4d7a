#include "data/text_pairs.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace roformer {

std::pair<std::int64_t, std::int64_t> longest_first(std::int64_t first, std::int64_t second,
                                                    std::int64_t room) {
  if (first + second <= room) return {first, second};
  const bool swapped = first > second;
  std::int64_t shorter = std::min(first, second);
  std::int64_t longer = std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

namespace {

// Appends `room` of the text's tokens.
void append_part(const std::vector<TokenId>& text, std::int64_t room, TextTruncation truncation,
                 std::vector<TokenId>& ids) {
  const std::int64_t head = truncation == TextTruncation::head   ? room
                            : truncation == TextTruncation::tail ? 0
                                                                 : (room + 1) / 2;
  ids.insert(ids.end(), text.begin(), text.begin() + head);
  ids.insert(ids.end(), text.end() - (room - head), text.end());
}

}  // namespace

EncodedText encode_text(const Tokenizer& tokenizer, std::string_view first,
                        const std::optional<std::string_view>& second, std::int64_t length,
                        TextTruncation truncation) {
  const SpecialTokens& special = tokenizer.special();
  ROFORMER_ASSERT(special.classification >= 0 && special.separator >= 0 && length >= 3);
  const std::int64_t separators = special.pair_separators;
  std::vector<TokenId> a = tokenizer.encode(first), b;
  if (second) b = tokenizer.encode(*second);
  const auto [room_of_a, room_of_b] =
      longest_first(std::ssize(a), std::ssize(b), length - (second ? separators + 2 : 2));
  EncodedText text;
  text.longest = std::max(std::ssize(a), std::ssize(b));
  text.cut = room_of_a < std::ssize(a) || room_of_b < std::ssize(b);
  text.ids.reserve(static_cast<std::size_t>(room_of_a + room_of_b + separators + 2));
  text.ids.push_back(special.classification);
  append_part(a, room_of_a, truncation, text.ids);
  text.ids.insert(text.ids.end(), second ? static_cast<std::size_t>(separators) : 1,
                  special.separator);
  text.second = text.length();
  if (second) {
    append_part(b, room_of_b, truncation, text.ids);
    text.ids.push_back(special.separator);
  }
  return text;
}

void require_sentence_tokens(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  if (special.classification >= 0 && special.separator >= 0) return;
  throw_usage("tokenizer", tokenizer.description() + " lacks [CLS] or [SEP]",
              "sentences are classified from [CLS]; take a vocabulary with both");
}

void append(const EncodedText& text, TextBatch& batch) {
  batch.ids.insert(batch.ids.end(), text.ids.begin(), text.ids.end());
  const auto begin = static_cast<std::int64_t>(batch.types.size());
  batch.types.resize(batch.ids.size());
  std::fill(batch.types.begin() + begin + text.second, batch.types.end(), 1);
  batch.lengths.push_back(text.length());
}

TextBatch part_of(const TextBatch& batch, std::int64_t first, std::int64_t last) {
  const auto begin = batch.lengths.begin();
  const std::int64_t before = std::accumulate(begin, begin + first, std::int64_t{0});
  const std::int64_t end = std::accumulate(begin + first, begin + last, before);
  TextBatch part{.ids = {batch.ids.begin() + before, batch.ids.begin() + end},
                 .types = {batch.types.begin() + before, batch.types.begin() + end},
                 .lengths = {begin + first, begin + last},
                 .first_token = before,
                 .first_text = first,
                 .longest_of_all = *std::ranges::max_element(batch.lengths)};
  for (const std::int64_t place : batch.places) {
    if (place < before) ++part.first_place;
    if (place >= before && place < end) part.places.push_back(place - before);
  }
  return part;
}

}  // namespace roformer
