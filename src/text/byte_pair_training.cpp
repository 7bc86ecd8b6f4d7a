#include "text/byte_pair_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "text/utf8.h"

namespace roformer {
namespace {

using SymbolPair = std::uint64_t;  // two ids; pairs compare as (left, right) do

SymbolPair symbol_pair(TokenId left, TokenId right) {
  return static_cast<SymbolPair>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}
TokenId left_of(SymbolPair pair) {
  return static_cast<TokenId>(pair >> 32);
}
TokenId right_of(SymbolPair pair) {
  return static_cast<TokenId>(pair & 0xffffffff);
}

struct SymbolPairHash {
  std::size_t operator()(SymbolPair pair) const { return mix(pair); }
};

using Places = std::vector<std::uint32_t>;  // numbers of words, each once

// A pair that may become a piece, with the words in which it appeared at one step. A pair has
// several of these if two ways lead to the same piece.
struct Candidate {
  std::int64_t count = 0;
  SymbolPair pair = 0;
  Places places;
};

bool is_worse(const Candidate& a, const Candidate& b) {
  return a.count != b.count ? a.count < b.count : a.pair > b.pair;
}

class Trainer {
 public:
  Trainer(const WordCounts& words, const BytePairTraining& training) : training_(training) {
    for (const std::string& piece : training.special) add_piece(piece);
    const std::vector<char32_t> characters = alphabet(words);
    for (const char32_t c : characters) add_piece(text_of(c));
    read_words(words, {characters.begin(), characters.end()});
    if (std::ssize(pieces_) > training.pieces) {
      throw_failure("training of the tokenizer",
                    fmt::format("{} pieces are too few: {} characters and special tokens "
                                "need one each",
                                training.pieces, pieces_.size()),
                    training.most_characters > 0 ? "give more --pieces or a lower --alphabet"
                                                 : "give more --pieces");
    }
  }

  TrainedPieces train() {
    count_pairs();
    while (std::ssize(pieces_) < training_.pieces && !queue_.empty()) {
      std::ranges::pop_heap(queue_, is_worse);
      Candidate best = std::move(queue_.back());
      queue_.pop_back();
      // The count may have changed since.
      if (const std::int64_t now = counts_[best.pair]; now != best.count) {
        best.count = now;
        push(std::move(best));
        continue;
      }
      if (best.count <
          static_cast<std::int64_t>(std::max<std::uint64_t>(1, training_.min_frequency)))
        break;
      merge(best);
      if (training_.progress) training_.progress(pieces_.size());
    }
    return {.pieces = std::move(pieces_), .merges = ordered_merges()};
  }

 private:
  struct Word {
    std::size_t begin = 0;  // in symbols_
    std::uint32_t length = 0;
    std::uint64_t count = 0;
  };

  const BytePairTraining& training_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<TokenId> symbols_;  // of all words
  std::vector<Word> words_;
  std::unordered_map<SymbolPair, std::int64_t, SymbolPairHash> counts_;
  std::unordered_map<SymbolPair, Places, SymbolPairHash> appeared_;  // since the last step
  std::vector<Candidate> queue_;                                     // a heap
  std::vector<SymbolPair> merges_;

  static std::string text_of(char32_t c) {
    std::string text;
    append_utf8(text, c);
    return text;
  }

  // The id of the piece, which may be new.
  TokenId add_piece(const std::string& piece) {
    const auto [found, is_new] = ids_.emplace(piece, static_cast<TokenId>(pieces_.size()));
    if (is_new) pieces_.push_back(piece);
    return found->second;
  }

  // The characters that get a piece, in their order.
  std::vector<char32_t> alphabet(const WordCounts& words) const {
    std::unordered_map<char32_t, std::uint64_t> counts;
    for (const auto& [word, count] : words.counts()) {
      for (std::size_t position = 0; position < word.size();) {
        counts[next_code_point(word, position)] += count;
      }
    }
    for (const char32_t c : training_.characters) {
      counts[c] = std::numeric_limits<std::uint64_t>::max();
    }
    std::vector<std::pair<char32_t, std::uint64_t>> sorted(counts.begin(), counts.end());
    std::ranges::sort(sorted, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (training_.most_characters > 0 && sorted.size() > training_.most_characters) {
      sorted.resize(training_.most_characters);
    }
    std::vector<char32_t> characters;
    for (const auto& [c, count] : sorted) characters.push_back(c);
    std::ranges::sort(characters);
    return characters;
  }

  // A character without a piece is left out of its word. The order of the words changes nothing.
  void read_words(const WordCounts& words, const std::set<char32_t>& characters) {
    const std::string& mark = training_.continuation;
    std::unordered_map<char32_t, TokenId> beginning, continuing;
    for (const char32_t c : characters) beginning[c] = ids_.at(text_of(c));
    if (!mark.empty()) {
      std::set<char32_t> inside;
      for (const auto& [word, count] : words.counts()) {
        std::size_t position = 0;
        if (!word.empty()) next_code_point(word, position);
        while (position < word.size()) {
          const char32_t c = next_code_point(word, position);
          if (beginning.contains(c)) inside.insert(c);
        }
      }
      for (const char32_t c : inside) continuing[c] = add_piece(mark + text_of(c));
    }
    for (const auto& [word, count] : words.counts()) {
      const std::size_t begin = symbols_.size();
      for (std::size_t position = 0; position < word.size();) {
        const auto& ids = position == 0 || mark.empty() ? beginning : continuing;
        const auto found = ids.find(next_code_point(word, position));
        if (found != ids.end()) symbols_.push_back(found->second);
      }
      const auto length = static_cast<std::uint32_t>(symbols_.size() - begin);
      // A word of one symbol has no pair.
      if (length > 1) {
        words_.push_back({.begin = begin, .length = length, .count = count});
      } else {
        symbols_.resize(begin);
      }
    }
  }

  void note_pair(SymbolPair pair, std::uint32_t word) {
    Places& places = appeared_[pair];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void count_pairs() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Word& word = words_[i];
      for (std::uint32_t j = 0; j + 1 < word.length; ++j) {
        const SymbolPair pair = symbol_pair(symbols_[word.begin + j], symbols_[word.begin + j + 1]);
        counts_[pair] += static_cast<std::int64_t>(word.count);
        note_pair(pair, static_cast<std::uint32_t>(i));
      }
    }
    queue_appeared();
  }

  void push(Candidate candidate) {
    queue_.push_back(std::move(candidate));
    std::ranges::push_heap(queue_, is_worse);
  }

  void queue_appeared() {
    for (auto& [pair, places] : appeared_) {
      const std::int64_t count = counts_[pair];
      if (count <= 0) continue;
      places.shrink_to_fit();
      push({.count = count, .pair = pair, .places = std::move(places)});
    }
    appeared_.clear();
  }

  void merge(const Candidate& candidate) {
    const TokenId left = left_of(candidate.pair), right = right_of(candidate.pair);
    std::string_view end = pieces_[static_cast<std::size_t>(right)];
    if (!training_.continuation.empty() && end.starts_with(training_.continuation)) {
      end.remove_prefix(training_.continuation.size());
    }
    const TokenId merged = add_piece(pieces_[static_cast<std::size_t>(left)] + std::string(end));
    merges_.push_back(candidate.pair);
    for (const std::uint32_t place : candidate.places) merge_in(place, left, right, merged);
    queue_appeared();
  }

  // From the left; the neighbours' pairs change as the pieces do.
  void merge_in(std::uint32_t place, TokenId left, TokenId right, TokenId merged) {
    Word& word = words_[place];
    TokenId* const symbols = symbols_.data() + word.begin;
    const auto count = static_cast<std::int64_t>(word.count);
    std::uint32_t written = 0;
    for (std::uint32_t i = 0; i < word.length;) {
      if (i + 1 == word.length || symbols[i] != left || symbols[i + 1] != right) {
        symbols[written++] = symbols[i++];
        continue;
      }
      if (written > 0) {
        counts_[symbol_pair(symbols[written - 1], left)] -= count;
        const SymbolPair pair = symbol_pair(symbols[written - 1], merged);
        counts_[pair] += count;
        note_pair(pair, place);
      }
      i += 2;
      if (i < word.length) {
        counts_[symbol_pair(right, symbols[i])] -= count;
        const SymbolPair pair = symbol_pair(merged, symbols[i]);
        counts_[pair] += count;
        note_pair(pair, place);
      }
      symbols[written++] = merged;
    }
    word.length = written;
  }

  // A pair that was merged at several steps has the place of the last.
  std::vector<TrainedPieces::Merge> ordered_merges() const {
    std::unordered_map<SymbolPair, std::size_t, SymbolPairHash> last;
    for (std::size_t i = 0; i < merges_.size(); ++i) last[merges_[i]] = i;
    std::vector<TrainedPieces::Merge> merges;
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      if (last[merges_[i]] != i) continue;
      merges.push_back({.left = left_of(merges_[i]), .right = right_of(merges_[i])});
    }
    return merges;
  }
};

}  // namespace

TrainedPieces train_byte_pairs(const WordCounts& words, const BytePairTraining& training) {
  if (words.counts().empty()) throw_failure("training of the tokenizer", "there is no text");
  return Trainer(words, training).train();
}

}  // namespace roformer
