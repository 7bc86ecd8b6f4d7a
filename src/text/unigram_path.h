// The best way to cover a text with pieces of a unigram model (Kudo 2018): the highest sum of their
// scores, where a character without a piece has the score of unknown ones. It is found in one pass.
// The ways to the last few places soon share their beginning, which is then final, so that the
// memory does not grow with the text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace roformer {

struct UnigramPieces {
  PieceTrie trie;              // of the pieces that a text may become
  std::vector<double> scores;  // by id
  double unknown_score = 0;
  TokenId unknown = 0;
  std::size_t longest = 4;  // bytes of a piece or of a character
};

// `Sum`: the type in which sums of scores are stored. The sum of a whole text is rounded with it,
// and decides between ways that are nearly equal.
template <class Sum>
class UnigramPath {
 public:
  UnigramPath(const UnigramPieces& pieces, std::string_view text) : pieces_(pieces), text_(text) {}

  // Calls on_piece(text of the piece, its id) in the order of the text, which is valid UTF-8.
  template <class OnPiece>
  void for_each_piece(OnPiece on_piece) {
    std::size_t most = kWindow;  // places whose pieces are not final
    ends_.assign(1 + std::min(text_.size(), kWindow) + pieces_.longest, End{});
    for (std::size_t begin = 0; begin < text_.size();) {
      if (begin - base_ >= most) {
        const std::size_t before = base_;
        finish(shared_place(begin), on_piece);
        if (base_ - before < most / 2) most *= 2;
      }
      ends_.resize(std::max(ends_.size(), begin - base_ + pieces_.longest + 1));
      begin = extend(begin);
    }
    finish(text_.size(), on_piece);
  }

 private:
  static constexpr std::size_t kWindow = 1 << 14;

  // The best way to a place: its last piece.
  struct End {
    Sum score = 0;
    std::int32_t length = 0;  // bytes; 0: no way ends here
    TokenId id = -1;
  };

  const UnigramPieces& pieces_;
  std::string_view text_;
  std::size_t base_ = 0;    // the pieces before it are final
  std::vector<End> ends_;   // by place, from base_ on
  std::vector<End> parts_;  // of finish()

  End& end_at(std::size_t place) { return ends_[place - base_]; }

  // Extends the best way to `begin` by every piece. Returns where the next character begins.
  std::size_t extend(std::size_t begin) {
    const Sum so_far = end_at(begin).score;
    const auto consider = [&](std::size_t length, double score, TokenId id) {
      End& end = end_at(begin + length);
      if (end.length != 0 && !(score > end.score)) return;
      end = {
          .score = static_cast<Sum>(score), .length = static_cast<std::int32_t>(length), .id = id};
    };
    std::size_t next = begin;
    next_code_point(text_, next);
    bool known = false;  // the character alone is a piece
    pieces_.trie.for_each_prefix(text_.substr(begin), [&](TokenId id, std::size_t length) {
      consider(length, pieces_.scores[static_cast<std::size_t>(id)] + so_far, id);
      known = known || length == next - begin;
    });
    if (!known) {
      consider(next - begin, static_cast<Sum>(pieces_.unknown_score + so_far), pieces_.unknown);
    }
    return next;
  }

  // The last place through which every way goes on: each passes a character's beginning among the
  // last `longest` bytes before `at`.
  std::size_t shared_place(std::size_t at) {
    std::vector<std::size_t> places;  // ascending
    for (std::size_t place = at - std::min(at - base_, pieces_.longest); place <= at; ++place) {
      if (place == base_ || end_at(place).length != 0) places.push_back(place);
    }
    while (places.size() > 1) {
      const std::size_t last = places.back();
      places.pop_back();
      const std::size_t before = last - static_cast<std::size_t>(end_at(last).length);
      const auto slot = std::ranges::lower_bound(places, before);
      if (slot == places.end() || *slot != before) places.insert(slot, before);
    }
    return places.front();
  }

  // Passes on the pieces of the best way from base_ to `place`, which becomes the base.
  template <class OnPiece>
  void finish(std::size_t place, OnPiece& on_piece) {
    parts_.clear();
    for (std::size_t end = place; end > base_;) {
      parts_.push_back(end_at(end));
      end -= static_cast<std::size_t>(parts_.back().length);
    }
    std::size_t begin = base_;
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      const auto length = static_cast<std::size_t>(part->length);
      on_piece(text_.substr(begin, length), part->id);
      begin += length;
    }
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(place - base_));
    base_ = place;
  }
};

}  // namespace roformer
