#include "text/unigram_model.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/byte_pieces.h"
#include "text/unigram_path.h"

namespace roformer {
namespace {

constexpr double kUnknownPenalty = 10.0;

class UnigramModel final : public WordSplitter {
 public:
  UnigramModel(UnigramOptions options, const std::vector<std::string>& pieces,
               const std::vector<bool>& usable)
      : byte_fallback_(options.byte_fallback) {
    for (std::size_t id = 0; id < options.scores.size(); ++id) {
      if (!usable[id]) continue;
      pieces_.trie.insert(pieces[id], static_cast<TokenId>(id));
      pieces_.longest = std::max(pieces_.longest, pieces[id].size());
    }
    if (byte_fallback_) byte_pieces_ = BytePieces(pieces, usable);
    pieces_.unknown_score = *std::ranges::min_element(options.scores) - kUnknownPenalty;
    pieces_.unknown = options.unknown;
    pieces_.scores = std::move(options.scores);
  }

  void split(std::string_view word, std::vector<TokenId>& ids) const override {
    std::string_view part;  // a piece, or unknown characters that are joined
    bool after_unknown = false;
    UnigramPath<double>(pieces_, word).for_each_piece([&](std::string_view piece, TokenId id) {
      const bool unknown = id == pieces_.unknown;
      if (unknown && after_unknown) {
        part = {part.data(), part.size() + piece.size()};
      } else {
        if (!part.empty()) append(part, ids);
        part = piece;
      }
      after_unknown = unknown;
    });
    if (!part.empty()) append(part, ids);
  }

  // Sums of scores are rounded, so that a part may have another best way alone than inside of a
  // text.
  bool splits_at_markers() const override { return false; }

 private:
  UnigramPieces pieces_;
  bool byte_fallback_;
  BytePieces byte_pieces_;

  // Unknown characters that were joined may be a piece.
  void append(std::string_view part, std::vector<TokenId>& ids) const {
    const PieceTrie::Match match = pieces_.trie.longest_prefix(part);
    if (match.length == part.size()) {
      ids.push_back(match.id);
    } else if (!byte_fallback_ || !byte_pieces_.append(part, ids)) {
      ids.push_back(pieces_.unknown);
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
