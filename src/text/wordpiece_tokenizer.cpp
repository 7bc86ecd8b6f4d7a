#include "text/wordpiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "text/bert_normalization.h"
#include "text/piece_trie.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

constexpr std::size_t kLongestWord = 100;  // characters
using Role = BertNormalization::Role;

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

  WordPieceTokenizer(std::string contents, const WordPieceModel& model, const std::string& location)
      : contents_(std::move(contents)),
        rules_(model.rules),
        has_added_tokens_(!model.added.empty()),
        normalization_(BertNormalization::of(model.rules)),
        pieces_(vocabulary_lines(model.vocabulary)) {
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
    hidden_.resize(pieces_.size());
    in_vocabulary_ = pieces_.size();
    add(model.added, location);
  }

  void encode(std::string_view raw, std::vector<TokenId>& ids) const override {
    encode(raw, SpecialNames::letters, ids);
  }
  void encode_prompt(std::string_view raw, std::vector<TokenId>& ids) const override {
    encode(raw, SpecialNames::tokens, ids);
  }

  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    for (const TokenId id : ids) {
      const bool hidden = is_special(id) ? id != special_.unknown : is_hidden(id);
      if (!with_special && hidden) continue;
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
    return piece.size() <= kContinuation.size() || !piece.starts_with(kContinuation) ||
           static_cast<std::size_t>(id) >= in_vocabulary_;
  }
  MaskSpaces mask_spaces() const override { return mask_spaces_; }
  TokenizerKind kind() const override { return TokenizerKind::wordpiece; }
  const std::string& file_contents() const override { return contents_; }
  std::string file_name() const override {
    return is_wordpiece_model(contents_) ? "wordpiece.json" : Tokenizer::file_name();
  }
  std::string description() const override {
    std::string text = rules_.lower_case ? "wordpiece uncased" : "wordpiece cased";
    if (rules_.strip_accents != rules_.lower_case) {
      text += rules_.strip_accents ? ", without accents" : ", with accents";
    }
    if (!rules_.chinese_characters) text += ", Chinese characters in words";
    if (has_added_tokens_) text += ", with added tokens";
    return text;
  }

 private:
  struct AsciiEntry {
    Role role = Role::dropped;
    char written = '\0';
  };

  std::string contents_;
  BertRules rules_;
  bool has_added_tokens_;
  const BertNormalization& normalization_;
  std::vector<std::string> pieces_;
  std::size_t in_vocabulary_ = 0;  // those before the added tokens
  std::vector<bool> hidden_;       // special added tokens: not in a text
  SpecialTokens special_;
  MaskSpaces mask_spaces_;
  AddedTokens added_to_text_, added_to_normal_text_;
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

  bool is_hidden(TokenId id) const {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    return hidden_[static_cast<std::size_t>(id)];
  }

  // BERT's own special tokens have names in a text, too.
  void add(const std::vector<AddedToken>& tokens, const std::string& location) {
    std::unordered_map<std::string, TokenId> ids;
    for (std::size_t i = 0; i < pieces_.size(); ++i) ids[pieces_[i]] = static_cast<TokenId>(i);
    check_added_ids(
        tokens,
        [&](const std::string& piece) {
          const auto found = ids.find(piece);
          return found == ids.end() ? -1 : found->second;
        },
        std::ssize(pieces_), location);
    for (const TokenId id : {special_.padding, special_.unknown, special_.classification,
                             special_.separator, special_.mask}) {
      const bool told = std::ranges::find(tokens, id, &AddedToken::id) != tokens.end();
      if (id >= 0 && !told)
        added_to_text_.insert({.content = piece(id), .id = id, .special = true});
    }
    for (AddedToken token : tokens) {
      if (token.id >= vocabulary_size()) {
        pieces_.push_back(token.content);
        hidden_.push_back(false);
      }
      hidden_[static_cast<std::size_t>(token.id)] = token.special;
      if (token.id == special_.mask) {
        mask_spaces_ = {.before = token.takes_before, .behind = token.takes_behind};
      }
      if (token.normalized) {
        token.content = normalization_.normalized(token.content);
        if (token.content.empty()) continue;  // no text has it
        added_to_normal_text_.insert(std::move(token));
      } else {
        added_to_text_.insert(std::move(token));
      }
    }
  }

  void encode(std::string_view raw, SpecialNames special, std::vector<TokenId>& ids) const {
    std::string repaired;
    std::uint64_t replaced = 0;
    const std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);

    WordCachePool::Lease cache(caches_);
    const bool looks_behind = added_to_normal_text_.may_find(special);
    if (!added_to_text_.may_find(special) && !looks_behind) return encode_words(text, *cache, ids);
    const auto on_token = [&ids](TokenId id) { ids.push_back(id); };
    added_to_text_.split(
        text, special,
        [&](std::string_view part) {
          if (!looks_behind) return encode_words(part, *cache, ids);
          // What is normal stays so: its parts may be normalised once more.
          added_to_normal_text_.split(
              normalization_.normalized(part), special,
              [&](std::string_view rest) { encode_words(rest, *cache, ids); }, on_token);
        },
        on_token);
  }

  void encode_words(std::string_view text, WordCache& cache, std::vector<TokenId>& ids) const {
    const std::size_t before = ids.size();
    if (encode_by_table(text, cache, ids)) return;
    ids.resize(before);
    for (const std::string& word : normalization_.plain_words(text)) {
      WordBuffer buffer;
      buffer.append(word);
      append_word(buffer, cache, ids);
    }
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
  const std::vector<std::string> lines = vocabulary_lines(contents);
  return std::find(lines.begin(), lines.end(), "[UNK]") != lines.end();
}

std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceOptions options) {
  const WordPieceModel model =
      is_wordpiece_model(options.contents)
          ? parse_wordpiece_model(options.contents, options.location)
          : WordPieceModel{.vocabulary = options.contents,
                           .rules = options.cased ? kCasedBert : kUncasedBert};
  if (options.cased && model.rules.lower_case) {
    throw_usage("tokenizer.cased",
                fmt::format("is for a vocab.txt, and {} says itself that it lowers case",
                            options.location));
  }
  if (!is_wordpiece_vocabulary(model.vocabulary)) {
    throw_failure(options.location, "is not a WordPiece vocabulary: no line \"[UNK]\"",
                  "give BERT's vocab.txt, one entry a line");
  }
  std::string repaired;
  std::uint64_t replaced = 0;
  repair_utf8(model.vocabulary, repaired, replaced);
  if (replaced > 0) {
    throw_failure(options.location, fmt::format("is not valid UTF-8 in {} places", replaced));
  }
  return std::make_unique<WordPieceTokenizer>(std::move(options.contents), model, options.location);
}

WordPieceModel wordpiece_model(const Tokenizer& tokenizer) {
  ROFORMER_ASSERT(tokenizer.kind() == TokenizerKind::wordpiece);
  const std::string& contents = tokenizer.file_contents();
  if (is_wordpiece_model(contents)) return parse_wordpiece_model(contents, tokenizer.file_name());
  return {.vocabulary = contents,
          .rules = tokenizer.description() == "wordpiece cased" ? kCasedBert : kUncasedBert};
}

}  // namespace roformer
