#include "text/bpe_model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include "base/text_hash.h"
#include "text/byte_alphabet.h"
#include "text/byte_pieces.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// Whether a marker follows another character inside of the piece.
bool crosses(std::string_view piece, std::string_view marker) {
  while (piece.starts_with(marker)) piece.remove_prefix(marker.size());
  return piece.find(marker) != std::string_view::npos;
}

class BpeModel final : public WordSplitter {
 public:
  BpeModel(const BpeOptions& options, const std::vector<std::string>& pieces,
           const std::vector<bool>& usable, const std::vector<BytePairMerge>& merges)
      : options_(options), merges_(merges, options.equal_ranks) {
    byte_ids_.fill(-1);
    for (std::size_t id = 0; id < pieces.size(); ++id) {
      if (usable[id] && !pieces[id].empty()) index(pieces[id], static_cast<TokenId>(id));
    }
    if (options.byte_fallback) byte_pieces_ = BytePieces(pieces, usable);
    // The marker must be a piece, so that no unknown neighbours are joined over it.
    splits_at_markers_ =
        !options.of_bytes && !options.whole_words_first && characters_.contains(options.marker) &&
        std::ranges::none_of(merges, [&](const BytePairMerge& merge) {
          return crosses(pieces[static_cast<std::size_t>(merge.merged)], options.marker);
        });
  }

  void split(std::string_view word, std::vector<TokenId>& ids) const override {
    if (const auto whole = words_.find(word); whole != words_.end()) {
      ids.push_back(whole->second);
      return;
    }
    std::vector<TokenId> symbols = options_.of_bytes ? symbols_of_bytes(word) : symbols_of(word);
    merges_.apply(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }

  bool splits_at_markers() const override { return splits_at_markers_; }

 private:
  using Ids = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

  BpeOptions options_;
  BytePairMerges merges_;
  bool splits_at_markers_ = false;
  std::array<TokenId, 256> byte_ids_;  // of_bytes: the pieces of one byte
  Ids characters_;                     // else: the pieces of one character
  Ids words_;                          // whole_words_first: all pieces
  BytePieces byte_pieces_;

  void index(const std::string& piece, TokenId id) {
    if (!options_.of_bytes) {
      std::size_t end = 0;
      next_code_point(piece, end);
      if (end == piece.size()) characters_.emplace(piece, id);
      if (options_.whole_words_first) words_.emplace(piece, id);
      return;
    }
    // Words are made of bytes, and only pieces in the alphabet can be found in them.
    const auto bytes = byte_alphabet().bytes_of(piece);
    if (!bytes) return;
    if (bytes->size() == 1) byte_ids_[static_cast<unsigned char>(bytes->front())] = id;
    if (options_.whole_words_first) words_.emplace(*bytes, id);
  }

  // An unknown symbol waits for its neighbours, because the file may join them. As in the
  // reference, the bytes of a character go before an unknown symbol that waits.
  std::vector<TokenId> symbols_of(std::string_view word) const {
    std::vector<TokenId> symbols;
    symbols.reserve(word.size());
    bool waits = false;
    for (std::size_t position = 0; position < word.size();) {
      const std::size_t begin = position;
      next_code_point(word, position);
      const std::string_view character = word.substr(begin, position - begin);
      if (const auto known = characters_.find(character); known != characters_.end()) {
        if (waits) symbols.push_back(options_.unknown);
        waits = false;
        symbols.push_back(known->second);
      } else if (!options_.byte_fallback || !byte_pieces_.append(character, symbols)) {
        if (waits && !options_.joins_unknown) symbols.push_back(options_.unknown);
        waits = options_.unknown >= 0;
      }
    }
    if (waits) symbols.push_back(options_.unknown);
    return symbols;
  }

  std::vector<TokenId> symbols_of_bytes(std::string_view word) const {
    std::vector<TokenId> symbols;
    symbols.reserve(word.size());
    bool after_unknown = false;
    for (const char byte : word) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
      if (id >= 0) {
        symbols.push_back(id);
      } else if (options_.unknown >= 0 && !(after_unknown && options_.joins_unknown)) {
        symbols.push_back(options_.unknown);
      }
      after_unknown = id < 0;
    }
    return symbols;
  }
};

}  // namespace

std::unique_ptr<WordSplitter> make_bpe_model(const BpeOptions& options,
                                             const std::vector<std::string>& pieces,
                                             const std::vector<bool>& usable,
                                             const std::vector<BytePairMerge>& merges) {
  return std::make_unique<BpeModel>(options, pieces, usable, merges);
}

}  // namespace roformer
