#include "tasks/tagging/word_windows.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace roformer {
namespace {

struct Span {
  std::size_t begin = 0, end = 0;  // words
};

// How far the context of a word reaches on its shorter side, in pieces. `starts`: where each word
// begins among the pieces, and the end.
std::int64_t context(const std::vector<std::int64_t>& starts, const Span& span, std::size_t word) {
  constexpr std::int64_t kUncut = std::numeric_limits<std::int64_t>::max();
  const std::int64_t left = span.begin == 0 ? kUncut : starts[word] - starts[span.begin];
  const std::int64_t right =
      span.end + 1 == starts.size() ? kUncut : starts[span.end] - starts[word + 1];
  return std::min(left, right);
}

std::vector<Span> spans_of(const std::vector<std::int64_t>& starts, std::int64_t room) {
  const std::size_t words = starts.size() - 1;
  const auto first_at = [&](std::int64_t piece) {
    return static_cast<std::size_t>(std::ranges::lower_bound(starts, piece) - starts.begin());
  };
  std::vector<Span> spans;
  for (std::size_t begin = 0;;) {
    std::size_t end = begin + 1;
    while (end < words && starts[end + 1] - starts[begin] <= room) ++end;
    if (end == words) {
      spans.push_back({first_at(std::max<std::int64_t>(0, starts[words] - room)), words});
      return spans;
    }
    spans.push_back({begin, end});
    begin = std::clamp(first_at(starts[begin] + room / 2), begin + 1, end);
  }
}

}  // namespace

WordEncoder::WordEncoder(const Tokenizer& tokenizer, std::int64_t length)
    : tokenizer_(tokenizer), room_(length - 2) {
  ROFORMER_ASSERT(room_ >= 1);
  // Byte-level pieces contain the blank before a word; the other kinds mark words themselves.
  std::vector<TokenId> apart = tokenizer.encode("a");
  const std::vector<TokenId> second = tokenizer.encode("b");
  apart.insert(apart.end(), second.begin(), second.end());
  with_spaces_ = tokenizer.encode("a b") != apart;
}

WordEncoder::Pieces WordEncoder::pieces_of(const std::vector<std::string>& words) const {
  const SpecialTokens& special = tokenizer_.special();
  Pieces pieces;
  for (const std::string& word : words) {
    pieces.push_back(tokenizer_.encode(with_spaces_ && !pieces.empty() ? " " + word : word));
    // A word of control characters has no piece and still needs a place for its tag.
    if (pieces.back().empty()) {
      pieces.back().push_back(special.unknown >= 0 ? special.unknown : special.separator);
    }
    if (std::ssize(pieces.back()) > room_) pieces.back().resize(static_cast<std::size_t>(room_));
  }
  return pieces;
}

WordWindow WordEncoder::window(const Pieces& pieces, std::size_t begin, std::size_t end) const {
  WordWindow window;
  std::vector<TokenId>& ids = window.text.ids;
  ids.push_back(tokenizer_.special().classification);
  for (std::size_t word = begin; word < end; ++word) {
    window.places.push_back(std::ssize(ids));
    window.words.push_back(static_cast<std::int64_t>(word));
    ids.insert(ids.end(), pieces[word].begin(), pieces[word].end());
  }
  ids.push_back(tokenizer_.special().separator);
  window.text.second = window.text.length();
  return window;
}

WordWindow WordEncoder::beginning(const std::vector<std::string>& words) const {
  const Pieces pieces = pieces_of(words);
  std::size_t end = 0;
  std::int64_t used = 0;
  while (end < pieces.size() && used + std::ssize(pieces[end]) <= room_) {
    used += std::ssize(pieces[end++]);
  }
  WordWindow first = window(pieces, 0, end);
  first.text.cut = end < pieces.size();
  return first;
}

std::vector<WordWindow> WordEncoder::windows(const std::vector<std::string>& words) const {
  ROFORMER_ASSERT(!words.empty());
  const Pieces pieces = pieces_of(words);
  std::vector<std::int64_t> starts{0};
  for (const auto& word : pieces) starts.push_back(starts.back() + std::ssize(word));
  const std::vector<Span> spans = spans_of(starts, room_);
  std::vector<WordWindow> windows;
  for (const Span& span : spans) windows.push_back(window(pieces, span.begin, span.end));
  if (spans.size() == 1) return windows;
  std::vector<std::size_t> chosen;  // the window of each word
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::size_t best = spans.size();
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (word < spans[i].begin || word >= spans[i].end) continue;
      if (best == spans.size() ||
          context(starts, spans[i], word) > context(starts, spans[best], word)) {
        best = i;
      }
    }
    chosen.push_back(best);
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    WordWindow own{.text = std::move(windows[i].text)};
    for (std::size_t n = 0; n < windows[i].words.size(); ++n) {
      if (chosen[static_cast<std::size_t>(windows[i].words[n])] != i) continue;
      own.places.push_back(windows[i].places[n]);
      own.words.push_back(windows[i].words[n]);
    }
    windows[i] = std::move(own);
  }
  std::erase_if(windows, [](const WordWindow& each) { return each.words.empty(); });
  return windows;
}

}  // namespace roformer
