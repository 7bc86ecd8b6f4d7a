#include "text/sentencepiece_splitter.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/text_hash.h"
#include "text/byte_pair_merges.h"
#include "text/byte_pieces.h"
#include "text/normalization_map.h"
#include "text/sentencepiece_file.h"
#include "text/sentencepiece_model.h"
#include "text/unigram_path.h"
#include "text/utf8.h"

namespace roformer {
namespace {

using PieceIndex = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

std::vector<bool> of_type(const SentencePieceFile& file, PieceType type) {
  std::vector<bool> result;
  for (const auto& piece : file.pieces) result.push_back(piece.type == type);
  return result;
}

std::vector<std::string> texts_of(const SentencePieceFile& file) {
  std::vector<std::string> result;
  for (const auto& piece : file.pieces) result.push_back(piece.text);
  return result;
}

TokenId unknown_of(const SentencePieceFile& file) {
  const auto found =
      std::ranges::find(file.pieces, PieceType::unknown, &SentencePieceFile::Piece::type);
  return static_cast<TokenId>(found - file.pieces.begin());
}

bool is_one_character(std::string_view text) {
  std::size_t end = 0;
  if (!text.empty()) next_code_point(text, end);
  return !text.empty() && end == text.size();
}

// The base of both kinds: it makes the normal form of a text and the tokens of unknown characters.
class LongTextSplitter : public SentencePieceSplitter {
 public:
  explicit LongTextSplitter(const SentencePieceFile& file)
      : unknown_(unknown_of(file)),
        rules_text_(file.rules),
        adds_prefix_(file.adds_prefix),
        removes_extra_spaces_(file.removes_extra_spaces),
        space_(file.marks_spaces ? kSpaceMarker : " ") {
    rules_ = NormalizationMap::of(rules_text_);
    if (file.byte_fallback) bytes_.emplace(texts_of(file), of_type(file, PieceType::byte));
  }

  void split(std::string_view text, bool continues, std::vector<TokenId>& ids) const override {
    split_normal(normal(text, continues), ids);
  }

 protected:
  TokenId unknown_;

  virtual void split_normal(std::string_view text, std::vector<TokenId>& ids) const = 0;

  // Appends an unknown character. Neighbours are one token, unless they are written as bytes.
  void append_unknown(std::string_view character, bool after_unknown,
                      std::vector<TokenId>& ids) const {
    if (bytes_ && bytes_->append(character, ids)) return;
    if (!after_unknown) ids.push_back(unknown_);
  }

 private:
  std::string rules_text_;
  std::optional<NormalizationMap> rules_;
  std::optional<BytePieces> bytes_;  // with byte fallback
  bool adds_prefix_, removes_extra_spaces_;
  std::string_view space_;

  // The first bytes of a text that are normalised together, and what they become.
  NormalizationMap::Match first_of(std::string_view text) const {
    if (rules_) {
      if (const auto match = rules_->longest(text); match.length > 0) return match;
    }
    std::size_t end = 0;
    next_code_point(text, end);
    return {.length = end, .written = text.substr(0, end)};
  }

  std::string normal(std::string_view text, bool continues) const {
    const auto drop = [&](std::size_t bytes) { text.remove_prefix(bytes); };
    while (removes_extra_spaces_ && !text.empty()) {
      const NormalizationMap::Match match = first_of(text);
      if (match.written != " ") break;
      drop(match.length);
    }
    std::string result;
    if (text.empty()) return result;
    result.reserve(text.size() + space_.size());
    if (adds_prefix_ && !continues) result += space_;
    bool after_space = removes_extra_spaces_;
    while (!text.empty()) {
      NormalizationMap::Match match = first_of(text);
      drop(match.length);
      while (after_space && match.written.starts_with(' ')) match.written.remove_prefix(1);
      for (const char& c : match.written) {
        result += c == ' ' ? space_ : std::string_view(&c, 1);
      }
      if (!match.written.empty()) after_space = match.written.ends_with(' ');
      after_space = after_space && removes_extra_spaces_;
    }
    while (removes_extra_spaces_ && result.ends_with(space_)) {
      result.resize(result.size() - space_.size());
    }
    return result;
  }
};

class UnigramSplitter final : public LongTextSplitter {
 public:
  explicit UnigramSplitter(const SentencePieceFile& file) : LongTextSplitter(file) {
    constexpr float kUnknownPenalty = 10;
    float lowest = std::numeric_limits<float>::max();
    for (std::size_t id = 0; id < file.pieces.size(); ++id) {
      const auto& piece = file.pieces[id];
      pieces_.scores.push_back(piece.score);
      if (piece.type != PieceType::normal) continue;
      pieces_.trie.insert(piece.text, static_cast<TokenId>(id));
      pieces_.longest = std::max(pieces_.longest, piece.text.size());
      lowest = std::min(lowest, piece.score);
    }
    pieces_.unknown_score = lowest - kUnknownPenalty;
    pieces_.unknown = unknown_;
  }

 private:
  UnigramPieces pieces_;

  void split_normal(std::string_view text, std::vector<TokenId>& ids) const override {
    bool after_unknown = false;
    UnigramPath<float>(pieces_, text).for_each_piece([&](std::string_view piece, TokenId id) {
      const bool unknown = id == unknown_;
      if (unknown) {
        append_unknown(piece, after_unknown, ids);
      } else {
        ids.push_back(id);
      }
      after_unknown = unknown;
    });
  }
};

// Symbols are ids of pieces; a character that is no piece is a number above them.
class BpeSplitter final : public LongTextSplitter {
 public:
  BpeSplitter(const SentencePieceFile& file, const PieceIndex& index)
      : LongTextSplitter(file),
        pieces_(static_cast<TokenId>(file.pieces.size())),
        merges_(merges_of(file, index), /*by_result=*/true) {
    for (const auto& [text, id] : index) {
      if (is_one_character(text)) characters_.emplace(text, id);
      add_pairs(text, index);
    }
  }

 private:
  TokenId pieces_;
  PieceIndex characters_;
  BytePairMerges merges_;
  // Neighbouring characters inside of pieces. No join crosses any other place of a text.
  std::unordered_set<std::uint64_t> inside_;

  static std::uint64_t pair_of(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }

  void add_pairs(std::string_view piece, const PieceIndex& index) {
    TokenId before = -1;
    for (std::size_t position = 0; position < piece.size();) {
      const std::size_t begin = position;
      next_code_point(piece, position);
      const TokenId symbol = symbol_of(piece.substr(begin, position - begin), index, pieces_);
      if (before >= 0) inside_.insert(pair_of(before, symbol));
      before = symbol;
    }
  }

  static TokenId symbol_of(std::string_view text, const PieceIndex& index, TokenId pieces) {
    if (const auto found = index.find(text); found != index.end()) return found->second;
    std::size_t position = 0;
    const char32_t c = next_code_point(text, position);
    return position == text.size() ? pieces + static_cast<TokenId>(c) : -1;
  }

  // Every two symbols that together are a piece.
  static std::vector<BytePairMerge> merges_of(const SentencePieceFile& file,
                                              const PieceIndex& index) {
    const auto pieces = static_cast<TokenId>(file.pieces.size());
    std::vector<BytePairMerge> merges;
    for (const auto& [text, id] : index) {
      const std::string_view piece = text;
      for (std::size_t cut = 0; cut < piece.size();) {
        next_code_point(piece, cut);
        if (cut == piece.size()) break;
        const TokenId left = symbol_of(piece.substr(0, cut), index, pieces);
        const TokenId right = symbol_of(piece.substr(cut), index, pieces);
        if (left >= 0 && right >= 0) merges.push_back({.left = left, .right = right, .merged = id});
      }
    }
    return merges;
  }

  void split_normal(std::string_view text, std::vector<TokenId>& ids) const override {
    constexpr std::size_t kBlock = 2000;  // symbols, from which on a block ends at the next seam
    std::vector<TokenId> symbols;
    bool after_unknown = false;
    for (std::size_t position = 0; position < text.size();) {
      const std::size_t begin = position;
      next_code_point(text, position);
      const TokenId symbol = symbol_of(text.substr(begin, position - begin), characters_, pieces_);
      if (symbols.size() >= kBlock && !inside_.contains(pair_of(symbols.back(), symbol))) {
        finish_block(symbols, after_unknown, ids);
      }
      symbols.push_back(symbol);
    }
    finish_block(symbols, after_unknown, ids);
  }

  // Joins the symbols, appends their ids and clears them.
  void finish_block(std::vector<TokenId>& symbols, bool& after_unknown,
                    std::vector<TokenId>& ids) const {
    merges_.apply(symbols);
    std::string character;
    for (const TokenId symbol : symbols) {
      const bool unknown = symbol >= pieces_;
      if (unknown) {
        character.clear();
        append_utf8(character, static_cast<char32_t>(symbol - pieces_));
        append_unknown(character, after_unknown, ids);
      } else {
        ids.push_back(symbol);
      }
      after_unknown = unknown;
    }
    symbols.clear();
  }
};

// The normal pieces, if their ids are in the order in which BPE joins them.
std::optional<PieceIndex> ordered_pieces(const SentencePieceFile& file) {
  PieceIndex index;
  float above = std::numeric_limits<float>::infinity();
  for (std::size_t id = 0; id < file.pieces.size(); ++id) {
    const auto& piece = file.pieces[id];
    if (piece.type != PieceType::normal) continue;
    index.emplace(piece.text, static_cast<TokenId>(id));
    if (is_one_character(piece.text)) continue;
    if (piece.score >= above) return std::nullopt;
    above = piece.score;
  }
  return index;
}

}  // namespace

std::unique_ptr<SentencePieceSplitter> SentencePieceSplitter::of(std::string_view model) {
  const SentencePieceFile file = parse_sentencepiece_file(model);
  const bool plain = std::ranges::all_of(file.pieces, [](const SentencePieceFile::Piece& piece) {
    const bool control = piece.type == PieceType::control || piece.type == PieceType::unknown;
    return piece.type != PieceType::user_defined && piece.type != PieceType::unused &&
           is_valid_utf8(piece.text) && !(control && is_one_character(piece.text));
  });
  if (!plain || file.space_is_suffix) return nullptr;
  if (std::optional<NormalizationMap> rules = NormalizationMap::of(file.rules);
      !file.rules.empty() && !(rules && rules->is_safe())) {
    return nullptr;
  }
  if (file.model == PieceModel::unigram) return std::make_unique<UnigramSplitter>(file);
  if (file.model != PieceModel::bpe) return nullptr;
  const std::optional<PieceIndex> index = ordered_pieces(file);
  if (!index) return nullptr;
  return std::make_unique<BpeSplitter>(file, *index);
}

}  // namespace roformer
