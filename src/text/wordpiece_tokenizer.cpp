#include "text/wordpiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/bert_normalization.h"
#include "text/piece_trie.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

constexpr std::size_t kLongestWord = 100;  // characters
using Role = BertNormalization::Role;

std::vector<std::string> split_lines(std::string_view contents) {
  std::vector<std::string> lines;
  while (!contents.empty()) {
    const std::size_t end = std::min(contents.find('\n'), contents.size());
    std::string_view line = contents.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    contents.remove_prefix(std::min(end + 1, contents.size()));
  }
  return lines;
}

bool is_continuation_byte(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The word being read, normalised. Characters beyond the limit are counted and not kept.
class WordBuffer {
 public:
  bool empty() const { return characters_ == 0; }
  bool too_long() const { return characters_ > kLongestWord; }
  std::string_view word() const { return {bytes_.data(), size_}; }
  void clear() { characters_ = size_ = 0; }

  void append_ascii(char c) {
    if (characters_ < kLongestWord) bytes_[size_++] = c;
    ++characters_;
  }
  void append(std::string_view text) {
    for (const char c : text) {
      characters_ += is_continuation_byte(c) ? 0 : 1;
      if (characters_ <= kLongestWord) bytes_[size_++] = c;
    }
  }

 private:
  std::array<char, kLongestWord * 4> bytes_;
  std::size_t size_ = 0;
  std::size_t characters_ = 0;
};

class WordPieceTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  explicit WordPieceTokenizer(WordPieceOptions options)
      : contents_(std::move(options.contents)),
        cased_(options.cased),
        normalization_(options.cased ? BertNormalization::cased() : BertNormalization::uncased()),
        pieces_(split_lines(contents_)) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::string& piece = pieces_[i];
      const auto id = static_cast<TokenId>(i);
      if (TokenId* special = special_id(piece)) {
        *special = id;
      } else if (piece.size() > kContinuation.size() && piece.starts_with(kContinuation)) {
        continuing_.insert(std::string_view(piece).substr(kContinuation.size()), id);
      } else if (!piece.empty()) {
        beginning_.insert(piece, id);
      }
    }
    for (std::size_t i = 0; i < ascii_.size(); ++i) {
      const BertNormalization::Entry& entry = normalization_.entry(static_cast<char32_t>(i));
      const char c = static_cast<char>(i);
      ascii_[i] = {.role = entry.role, .written = normalization_.written(entry, {&c, 1})[0]};
    }
  }

  void encode(std::string_view raw, std::vector<TokenId>& ids) const override {
    std::string repaired;
    std::uint64_t replaced = 0;
    const std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);

    WordCachePool::Lease cache(caches_);
    const std::size_t before = ids.size();
    if (encode_by_table(text, *cache, ids)) return;
    ids.resize(before);
    for (const std::string& word : normalization_.plain_words(text)) {
      WordBuffer buffer;
      buffer.append(word);
      append_word(buffer, *cache, ids);
    }
  }

  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (!with_special && is_special(id) && id != special_.unknown) continue;
      const std::string piece = this->piece(id);
      if (!begins_word(id) && !text.empty()) {
        text += std::string_view(piece).substr(kContinuation.size());
      } else {
        if (!text.empty()) text += ' ';
        text += piece;
      }
    }
    return text;
  }

  std::int64_t vocabulary_size() const override {
    return static_cast<std::int64_t>(pieces_.size());
  }
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    return pieces_[static_cast<std::size_t>(id)];
  }
  const SpecialTokens& special() const override { return special_; }
  bool begins_word(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    const std::string& piece = pieces_[static_cast<std::size_t>(id)];
    return piece.size() <= kContinuation.size() || !piece.starts_with(kContinuation);
  }
  TokenizerKind kind() const override { return TokenizerKind::wordpiece; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override {
    return cased_ ? "wordpiece cased" : "wordpiece uncased";
  }

 private:
  struct AsciiEntry {
    Role role = Role::dropped;
    char written = '\0';
  };

  std::string contents_;
  bool cased_;
  const BertNormalization& normalization_;
  std::vector<std::string> pieces_;
  SpecialTokens special_;
  PieceTrie beginning_;
  PieceTrie continuing_;
  std::array<AsciiEntry, 128> ascii_;
  mutable WordCachePool caches_;

  TokenId* special_id(std::string_view piece) {
    if (piece == "[PAD]") return &special_.padding;
    if (piece == "[UNK]") return &special_.unknown;
    if (piece == "[CLS]") return &special_.classification;
    if (piece == "[SEP]") return &special_.separator;
    if (piece == "[MASK]") return &special_.mask;
    return nullptr;
  }

  // False when the text holds a code point that the table cannot decide.
  bool encode_by_table(std::string_view text, WordCache& cache, std::vector<TokenId>& ids) const {
    WordBuffer buffer;
    std::size_t position = 0;
    while (position < text.size()) {
      const auto byte = static_cast<unsigned char>(text[position]);
      if (byte < 128) {
        const AsciiEntry entry = ascii_[byte];
        ++position;
        if (entry.role == Role::letter) {
          buffer.append_ascii(entry.written);
          continue;
        }
        if (entry.role == Role::dropped) continue;
        append_word(buffer, cache, ids);
        if (entry.role == Role::punctuation) {
          buffer.append_ascii(entry.written);
          append_word(buffer, cache, ids);
        }
        continue;
      }
      const std::size_t start = position;
      const BertNormalization::Entry& entry = normalization_.entry(next_code_point(text, position));
      const std::string_view written =
          normalization_.written(entry, text.substr(start, position - start));
      switch (entry.role) {
        case Role::letter:
          buffer.append(written);
          break;
        case Role::space:
          append_word(buffer, cache, ids);
          break;
        case Role::punctuation:
          append_word(buffer, cache, ids);
          buffer.append(written);
          append_word(buffer, cache, ids);
          break;
        case Role::dropped:
          break;
        case Role::plain:
          return false;
      }
    }
    append_word(buffer, cache, ids);
    return true;
  }

  // Appends the ids of the word in the buffer, if any, and empties the buffer.
  void append_word(WordBuffer& buffer, WordCache& cache, std::vector<TokenId>& ids) const {
    if (buffer.empty()) return;
    if (buffer.too_long()) {
      ids.push_back(special_.unknown);
    } else if (!cache.find(buffer.word(), ids)) {
      const std::size_t before = ids.size();
      split_word(buffer.word(), ids);
      cache.insert(buffer.word(), std::span<const TokenId>(ids).subspan(before));
    }
    buffer.clear();
  }

  void split_word(std::string_view word, std::vector<TokenId>& ids) const {
    const std::size_t before = ids.size();
    const PieceTrie* trie = &beginning_;
    while (!word.empty()) {
      const PieceTrie::Match match = trie->longest_prefix(word);
      if (match.id < 0) {
        ids.resize(before);
        ids.push_back(special_.unknown);
        return;
      }
      ids.push_back(match.id);
      word.remove_prefix(match.length);
      trie = &continuing_;
    }
  }
};

}  // namespace

bool is_wordpiece_vocabulary(std::string_view contents) {
  if (contents.find('\0') != std::string_view::npos) return false;
  const std::vector<std::string> lines = split_lines(contents);
  return std::find(lines.begin(), lines.end(), "[UNK]") != lines.end();
}

std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceOptions options) {
  if (!is_wordpiece_vocabulary(options.contents)) {
    throw_failure(options.location, "is not a WordPiece vocabulary: no line \"[UNK]\"",
                  "give BERT's vocab.txt, one entry a line");
  }
  std::string repaired;
  std::uint64_t replaced = 0;
  repair_utf8(options.contents, repaired, replaced);
  if (replaced > 0) {
    throw_failure(options.location, fmt::format("is not valid UTF-8 in {} places", replaced));
  }
  return std::make_unique<WordPieceTokenizer>(std::move(options));
}

}  // namespace roformer
