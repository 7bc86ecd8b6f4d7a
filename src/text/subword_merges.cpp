#include "text/subword_merges.h"

#include <algorithm>
#include <limits>

#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::string_view kWordEnd = "</w>";
// Merging takes quadratic time; what is longer is no word and is split in runs of so many bytes.
constexpr std::size_t kLongestWord = 1000;

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

SubwordMerges::SubwordMerges(const std::vector<std::pair<std::string, std::string>>& merges,
                             WordEnd word_end)
    : word_end_(word_end) {
  const auto intern = [&](const std::string& text) {
    return symbols_.emplace(text, static_cast<Symbol>(symbols_.size())).first->second;
  };
  // From the last to the first, so that the first of equals stays, as in subword-nmt. There a pair
  // keeps the place in this walk that its last mention gave it, which decides between pairs whose
  // halves join to the same text.
  for (std::size_t i = merges.size(); i-- > 0;) {
    const auto& [left, right] = merges[i];
    const std::uint64_t key = pair_key(intern(left), intern(right));
    const Merge merge{.rank = static_cast<std::int32_t>(i), .result = intern(left + right)};
    const bool is_new = merges_.insert_or_assign(key, merge).second;
    if (is_new) left_of_[left + right] = left.size();
  }
}

SubwordMerges::Symbol SubwordMerges::symbol_of(const std::string& text) const {
  const auto found = symbols_.find(text);
  return found == symbols_.end() ? kOther : found->second;
}

std::vector<SubwordMerges::Part> SubwordMerges::merge(std::string_view word, bool ends_word) const {
  std::vector<Part> parts;
  for (std::size_t position = 0; position < word.size();) {
    const std::size_t begin = position;
    next_code_point(word, position);
    const bool last = ends_word && position == word.size() && word_end_ == WordEnd::attached;
    std::string text(word.substr(begin, position - begin));
    if (last) text += kWordEnd;
    parts.push_back(
        {.begin = begin, .end = position, .ends_word = last, .symbol = symbol_of(text)});
  }
  if (ends_word && word_end_ == WordEnd::separate) {
    parts.push_back({.begin = word.size(),
                     .end = word.size(),
                     .ends_word = true,
                     .symbol = symbol_of(std::string(kWordEnd))});
  }
  const auto merge_at = [&](std::size_t i) -> const Merge* {
    if (parts[i].symbol == kOther || parts[i + 1].symbol == kOther) return nullptr;
    const auto found = merges_.find(pair_key(parts[i].symbol, parts[i + 1].symbol));
    return found == merges_.end() ? nullptr : &found->second;
  };
  while (parts.size() > 1) {
    const Merge* best = nullptr;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const Merge* const here = merge_at(i);
      if (here != nullptr && (best == nullptr || here->rank < best->rank)) best = here;
    }
    if (best == nullptr) break;
    // Everywhere at once, from the left; a part that has just been merged is not merged again.
    std::vector<Part> merged;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i + 1 < parts.size() && merge_at(i) == best) {
        merged.push_back({.begin = parts[i].begin,
                          .end = parts[i + 1].end,
                          .ends_word = parts[i + 1].ends_word,
                          .symbol = best->result});
        ++i;
      } else {
        merged.push_back(parts[i]);
      }
    }
    parts = std::move(merged);
  }
  if (parts.size() > 1 && parts.back().begin == parts.back().end) {
    parts.pop_back();
    parts.back().ends_word = true;
  }
  return parts;
}

void SubwordMerges::take_apart(const SubwordPiece& piece,
                               const std::function<bool(const SubwordPiece&)>& known,
                               std::vector<SubwordPiece>& pieces) const {
  std::string text(piece.text);
  if (piece.ends_word) text += kWordEnd;
  const auto found = left_of_.find(text);
  const std::size_t left_bytes = found == left_of_.end() ? 0 : found->second;
  if (left_bytes == 0 || left_bytes > piece.text.size()) {
    pieces.push_back(piece);
    return;
  }
  // Where the right half is the mark of the end alone, subword-nmt leaves an empty last piece,
  // which is nothing, so that the left one is written as if the word went on.
  for (const SubwordPiece& half :
       {SubwordPiece{.text = piece.text.substr(0, left_bytes), .ends_word = false},
        SubwordPiece{.text = piece.text.substr(left_bytes), .ends_word = piece.ends_word}}) {
    if (half.text.empty()) continue;
    if (known(half)) {
      pieces.push_back(half);
    } else {
      take_apart(half, known, pieces);
    }
  }
}

std::vector<SubwordPiece> SubwordMerges::split(
    std::string_view word, const std::function<bool(const SubwordPiece&)>& known) const {
  std::vector<SubwordPiece> pieces;
  std::size_t first_character = 0;
  if (!word.empty()) next_code_point(word, first_character);
  if (first_character == word.size() && !word.empty()) return {{.text = word, .ends_word = true}};
  while (!word.empty()) {
    std::size_t end = word.size();
    if (end > kLongestWord) {
      end = kLongestWord;
      while ((static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
    }
    const std::string_view run = word.substr(0, end);
    word.remove_prefix(end);
    for (const Part& part : merge(run, word.empty())) {
      const SubwordPiece piece{.text = run.substr(part.begin, part.end - part.begin),
                               .ends_word = part.ends_word};
      if (known(piece)) {
        pieces.push_back(piece);
      } else {
        take_apart(piece, known, pieces);
      }
    }
  }
  return pieces;
}

}  // namespace roformer
