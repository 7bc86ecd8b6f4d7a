#include "text/byte_level_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/byte_level_file.h"
#include "text/characters.h"
#include "text/marked_words.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

class ByteLevelTokenizer final : public VocabularyTokenizer {
 public:
  ByteLevelTokenizer(std::string contents, ByteLevelFile file)
      : VocabularyTokenizer(TokenizerKind::byte_level, std::move(contents)),
        hidden_(file.pieces.size()),
        normalization_(std::move(file.normalization)),
        cutting_(std::move(file.cutting)),
        model_(std::move(file.model)),
        decoder_(std::move(file.decoder)),
        marker_(std::move(file.marker)),
        text_start_(file.text_start) {
    pieces_ = std::move(file.pieces);
    special_ = file.special;
    if (of_bytes()) {
      for (const std::string& piece : pieces_) bytes_.push_back(bytes_of_piece(piece));
    }
    for (AddedToken& token : file.added) add(std::move(token));
  }

  // Bytes that are not UTF-8, such as half a character, are written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string bytes;
    std::vector<std::string> pieces;
    for (const TokenId id : ids) {
      const std::size_t index = index_of(id);
      if (!with_special && hidden_[index]) continue;
      if (of_bytes()) {
        bytes += bytes_[index];
      } else {
        pieces.push_back(pieces_[index]);
      }
    }
    return of_bytes() ? std::string(ValidText(bytes).text) : decoder_.text_of(std::move(pieces));
  }

  // White space and punctuation begin a word; so does a piece after white space (find_words).
  bool begins_word(TokenId id) const override {
    if (!of_bytes()) return hidden_[index_of(id)] || pieces_[index_of(id)].starts_with(marker_);
    const std::string& bytes = bytes_[index_of(id)];
    if (bytes.empty() || hidden_[index_of(id)]) return true;
    const auto first = static_cast<unsigned char>(bytes[0]);
    const bool letter = (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z') ||
                        (first >= 'a' && first <= 'z') || first >= 128;
    return !letter;
  }
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
    if (!of_bytes()) {
      return find_marked_words(
          [&](std::size_t i) -> const std::string& { return pieces_[index_of(ids[i])]; }, marker_,
          begins);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string* const before = i == 0 ? nullptr : &bytes_[index_of(ids[i - 1])];
      constexpr std::string_view kWhite = " \t\r\n\f\v";
      const bool after_white = before == nullptr || before->empty() ||
                               kWhite.find(before->back()) != std::string_view::npos;
      // A space and the word after it are one word, though they may be two pieces.
      const bool lone_space = before != nullptr && *before == " ";
      if (after_white && !lone_space) begins[i] = 1;
      const bool unspaced = begins_unspaced(bytes_[index_of(ids[i])]) ||
                            (before != nullptr && ends_unspaced(*before));
      if (unspaced && !lone_space) begins[i] = 1;
    }
  }
  MaskSpaces mask_spaces() const override { return mask_spaces_; }
  TokenId text_start() const override { return text_start_; }
  // A normalizer or pre-tokenizer may drop them, but then they end a word.
  bool keeps_line_ends() const override { return true; }

 private:
  std::vector<std::string> bytes_;  // of the pieces of a byte-level file
  std::vector<bool> hidden_;        // special tokens: not in a text
  TextNormalization normalization_;
  TextCutting cutting_;
  std::unique_ptr<WordSplitter> model_;
  PieceDecoder decoder_;
  std::string marker_;  // the character for a space, in pieces of characters
  TokenId text_start_;
  MaskSpaces mask_spaces_;
  LayeredTokens added_;
  mutable WordCachePool caches_;

  bool of_bytes() const { return cutting_.gives_bytes(); }

  void encode_text(std::string_view text, SpecialNames names,
                   std::vector<TokenId>& ids) const override {
    WordCachePool::Lease cache(caches_);
    std::int64_t effort = cutting_.effort_for(text.size());
    const char* const begin = text.data();
    bool from_start = true;  // the part that was normalised last
    LayeredTokens::Normalize normalized;
    if (!normalization_.changes_nothing() || added_.may_find_in_normal_text(names)) {
      normalized = [&](std::string_view part) {
        NormalText result =
            normalization_.apply({.text = std::string(part), .from_start = part.data() == begin});
        from_start = result.from_start;
        return std::move(result.text);
      };
    }
    added_.split(
        text, names, normalized,
        [&](std::string_view part, std::string_view whole) {
          const bool first =
              part.data() == whole.data() && (normalized ? from_start : part.data() == begin);
          cutting_.cut(part, first, effort,
                       [&](std::string_view word) { append_word(word, *cache, ids); });
        },
        [&](TokenId id) { ids.push_back(id); });
  }

  void add(AddedToken token) {
    if (token.special) hidden_[index_of(token.id)] = true;
    if (token.id == special_.mask) {
      mask_spaces_ = {.before = token.takes_before, .after = token.takes_after};
    }
    if (token.normalized) {
      // The piece is the text by which the token is found.
      token.content = normalization_.apply({.text = token.content}).text;
      pieces_[index_of(token.id)] = token.content;
      if (of_bytes()) bytes_[index_of(token.id)] = bytes_of_piece(token.content);
    }
    added_.insert(std::move(token));
  }

  void append_word(std::string_view word, WordCache& cache, std::vector<TokenId>& ids) const {
    const bool splits = model_->splits_at_markers();
    while (!word.empty()) {
      const std::string_view part = splits ? first_marked(word) : word;
      cache.append(part, ids, [&] { model_->split(part, ids); });
      word.remove_prefix(part.size());
    }
  }

  // Up to the next marker that follows another character.
  std::string_view first_marked(std::string_view word) const {
    std::size_t end = 0;
    while (word.substr(end).starts_with(marker_)) end += marker_.size();
    return word.substr(0, word.find(marker_, end));
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level_tokenizer(std::string contents,
                                                     const std::string& location) {
  ByteLevelFile file = parse_byte_level_file(contents, location);
  return std::make_unique<ByteLevelTokenizer>(std::move(contents), std::move(file));
}

}  // namespace roformer
