#include "text/unigram_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "text/byte_pieces.h"
#include "text/piece_trie.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr double kUnknownPenalty = 10.0;

// The best way to cover a word up to a place in it.
struct BestEnd {
  double score = 0;
  std::int32_t length = 0;  // bytes of its last piece; 0: no way ends here
  TokenId id = -1;
};

class UnigramModel final : public WordSplitter {
 public:
  UnigramModel(UnigramOptions options, const std::vector<std::string>& pieces,
               const std::vector<bool>& usable)
      : options_(std::move(options)) {
    for (std::size_t id = 0; id < options_.scores.size(); ++id) {
      if (usable[id]) trie_.insert(pieces[id], static_cast<TokenId>(id));
    }
    if (options_.byte_fallback) byte_pieces_ = BytePieces(pieces, usable);
    unknown_score_ = *std::ranges::min_element(options_.scores) - kUnknownPenalty;
  }

  void split(std::string_view word, std::vector<TokenId>& ids) const override {
    const std::vector<BestEnd> ends = best_ends(word);
    std::vector<std::pair<std::size_t, std::size_t>> parts;  // of the best way, from its end
    bool after_unknown = false;
    for (std::size_t end = word.size(); end > 0;) {
      const std::size_t begin = end - static_cast<std::size_t>(ends[end].length);
      const bool unknown = ends[end].id == options_.unknown;
      if (unknown && after_unknown) {
        parts.back().first = begin;
      } else {
        parts.emplace_back(begin, end);
      }
      after_unknown = unknown;
      end = begin;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      append(word.substr(part->first, part->second - part->first), ids);
    }
  }

  // Sums of scores are rounded, so that a part may have another best way alone than inside of a
  // text.
  bool splits_at_markers() const override { return false; }

 private:
  UnigramOptions options_;
  PieceTrie trie_;
  BytePieces byte_pieces_;
  double unknown_score_ = 0;

  std::vector<BestEnd> best_ends(std::string_view word) const {
    std::vector<BestEnd> ends(word.size() + 1);
    for (std::size_t begin = 0; begin < word.size();) {
      const double so_far = ends[begin].score;
      const auto consider = [&](std::size_t length, double score, TokenId id) {
        BestEnd& end = ends[begin + length];
        if (end.length != 0 && score + so_far <= end.score) return;
        end = {.score = score + so_far, .length = static_cast<std::int32_t>(length), .id = id};
      };
      std::size_t next = begin;
      next_code_point(word, next);
      bool known = false;  // the character alone is a piece
      trie_.for_each_prefix(word.substr(begin), [&](TokenId id, std::size_t length) {
        consider(length, options_.scores[static_cast<std::size_t>(id)], id);
        known = known || length == next - begin;
      });
      if (!known) consider(next - begin, unknown_score_, options_.unknown);
      begin = next;
    }
    return ends;
  }

  // Unknown characters that were joined may be a piece.
  void append(std::string_view part, std::vector<TokenId>& ids) const {
    const PieceTrie::Match match = trie_.longest_prefix(part);
    if (match.length == part.size()) {
      ids.push_back(match.id);
    } else if (!options_.byte_fallback || !byte_pieces_.append(part, ids)) {
      ids.push_back(options_.unknown);
    }
  }
};

}  // namespace

std::unique_ptr<WordSplitter> make_unigram_model(UnigramOptions options,
                                                 const std::vector<std::string>& pieces,
                                                 const std::vector<bool>& usable) {
  ROFORMER_ASSERT(!options.scores.empty());
  return std::make_unique<UnigramModel>(std::move(options), pieces, usable);
}

}  // namespace roformer
