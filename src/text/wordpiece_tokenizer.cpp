#include "text/wordpiece_tokenizer.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/fields.h"
#include "base/json.h"
#include "text/piece_trie.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

constexpr std::string_view kWordPieceFormat = "roformer wordpiece";

// The line need not be UTF-8.
std::string_view without_white_end(std::string_view line) {
  auto end = static_cast<std::int32_t>(line.size());
  while (end > 0) {
    std::int32_t before = end;
    UChar32 c = 0;
    U8_PREV(line.data(), 0, before, c);
    if (c < 0 || !u_isUWhiteSpace(c)) break;
    end = before;
  }
  return line.substr(0, static_cast<std::size_t>(end));
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
  static constexpr std::size_t kLongestWord = 100;  // characters
  std::array<char, kLongestWord * 4> bytes_;
  std::size_t size_ = 0;
  std::size_t characters_ = 0;
};

class WordPieceTokenizer final : public VocabularyTokenizer {
  using Role = BertNormalization::Role;

 public:
  WordPieceTokenizer(std::string contents, const WordPieceModel& model, const std::string& location)
      : VocabularyTokenizer(TokenizerKind::wordpiece, std::move(contents)),
        rules_(model.rules),
        has_added_tokens_(!model.added.empty()),
        normalization_(BertNormalization::of(model.rules)) {
    pieces_ = vocabulary_lines(model.vocabulary);
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

  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    for (const TokenId id : ids) {
      const bool hidden = is_special(id) ? id != special_.unknown : hidden_[index_of(id)];
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

  bool begins_word(TokenId id) const override {
    const std::string& piece = pieces_[index_of(id)];
    return piece.size() <= kContinuation.size() || !piece.starts_with(kContinuation) ||
           static_cast<std::size_t>(id) >= in_vocabulary_;
  }
  MaskSpaces mask_spaces() const override { return mask_spaces_; }
  std::string file_name() const override {
    return is_wordpiece_model(file_contents()) ? "wordpiece.json" : Tokenizer::file_name();
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

  BertRules rules_;
  bool has_added_tokens_;
  const BertNormalization& normalization_;
  std::size_t in_vocabulary_ = 0;  // pieces before the added tokens
  std::vector<bool> hidden_;       // special added tokens: not in a text
  MaskSpaces mask_spaces_;
  LayeredTokens added_;
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

  // BERT's own special tokens also have names in a text.
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
      if (id >= 0 && !told) added_.insert({.content = piece(id), .id = id, .special = true});
    }
    for (AddedToken token : tokens) {
      if (token.id >= vocabulary_size()) {
        pieces_.push_back(token.content);
        hidden_.push_back(false);
      }
      hidden_[static_cast<std::size_t>(token.id)] = token.special;
      if (token.id == special_.mask) {
        mask_spaces_ = {.before = token.takes_before, .after = token.takes_after};
      }
      if (token.normalized) {
        token.content = normalization_.normalized(token.content);
        if (token.content.empty()) continue;  // no text has it
      }
      added_.insert(std::move(token));
    }
  }

  void encode_text(std::string_view text, SpecialNames names,
                   std::vector<TokenId>& ids) const override {
    WordCachePool::Lease cache(caches_);
    std::function<std::string(std::string_view)> normalized;
    if (added_.may_find_in_normal_text(names)) {
      // Normal text stays the same when its parts are normalised once more.
      normalized = [this](std::string_view part) { return normalization_.normalized(part); };
    } else if (!added_.may_find(names)) {
      return encode_words(text, *cache, ids);
    }
    added_.split(
        text, names, normalized,
        [&](std::string_view part, std::string_view) { encode_words(part, *cache, ids); },
        [&](TokenId id) { ids.push_back(id); });
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

  // False if the text holds a code point that the table cannot decide.
  bool encode_by_table(std::string_view text, WordCache& cache, std::vector<TokenId>& ids) const {
    WordBuffer buffer;
    std::size_t position = 0;
    while (position < text.size()) {
      const auto byte = static_cast<unsigned char>(text[position]);
      if (byte < 128 && ascii_[byte].role == Role::letter) {
        buffer.append_ascii(ascii_[byte].written);
        ++position;
        continue;
      }
      const std::size_t start = position;
      const BertNormalization::Entry& entry = normalization_.entry(next_code_point(text, position));
      const std::string_view written =
          normalization_.written(entry, text.substr(start, position - start));
      if (entry.role == Role::dropped) continue;
      if (entry.role == Role::plain) return false;
      if (entry.role != Role::letter) append_word(buffer, cache, ids);
      if (entry.role != Role::space) buffer.append(written);
      if (entry.role == Role::punctuation) append_word(buffer, cache, ids);
    }
    append_word(buffer, cache, ids);
    return true;
  }

  // Appends the ids of the word in the buffer, if any, and empties the buffer.
  void append_word(WordBuffer& buffer, WordCache& cache, std::vector<TokenId>& ids) const {
    if (buffer.empty()) return;
    if (buffer.too_long()) {
      ids.push_back(special_.unknown);
    } else {
      cache.append(buffer.word(), ids, [&] { split_word(buffer.word(), ids); });
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

std::vector<std::string> vocabulary_lines(std::string_view contents) {
  std::vector<std::string> lines;
  for_each_text_line(contents, [&](std::string_view line, std::int64_t) {
    lines.emplace_back(without_white_end(line));
  });
  return lines;
}

std::string wordpiece_contents(const WordPieceModel& model) {
  // A vocab.txt and "cased" or "uncased" describe BERT's two variants completely.
  if (model.added.empty() && (model.rules == kCasedBert || model.rules == kUncasedBert)) {
    return model.vocabulary;
  }
  nlohmann::ordered_json document = {{"format", kWordPieceFormat},
                                     {"version", 1},
                                     {"lower_case", model.rules.lower_case},
                                     {"strip_accents", model.rules.strip_accents},
                                     {"chinese_characters", model.rules.chinese_characters},
                                     {"added_tokens", nlohmann::ordered_json::array()},
                                     {"vocabulary", model.vocabulary}};
  for (const AddedToken& token : model.added) {
    document["added_tokens"].push_back(added_token_json(token));
  }
  return document.dump() + "\n";
}

bool is_wordpiece_model(std::string_view contents) {
  return is_vocabulary_json(contents, kWordPieceFormat);
}

WordPieceModel parse_wordpiece_model(std::string_view contents, const std::string& location) {
  const nlohmann::json document = parse_vocabulary_json(contents, kWordPieceFormat, location);
  const JsonFields fields(document, location);
  WordPieceModel model{.vocabulary = fields.text("vocabulary"),
                       .rules = {.lower_case = fields.flag("lower_case"),
                                 .strip_accents = fields.flag("strip_accents"),
                                 .chinese_characters = fields.flag("chinese_characters")}};
  for (const nlohmann::json& entry : fields.list("added_tokens")) {
    AddedToken token = parse_added_token(entry, location);
    const std::int64_t id = json_integer(entry.value("id", nlohmann::json()), location);
    constexpr std::int64_t kMost = 100'000'000;
    if (id < 0 || id > kMost) throw_failure(location, "has an added token with a wrong id");
    token.id = static_cast<TokenId>(id);
    model.added.push_back(std::move(token));
  }
  return model;
}

bool is_wordpiece_vocabulary(std::string_view contents) {
  if (contents.find('\0') != std::string_view::npos) return false;
  const std::vector<std::string> lines = vocabulary_lines(contents);
  return std::ranges::find(lines, "[UNK]") != lines.end();
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
                  "give BERT's vocab.txt, one entry per line");
  }
  if (const ValidText valid(model.vocabulary); valid.replaced > 0) {
    throw_failure(options.location, fmt::format("is not valid UTF-8 in {} places", valid.replaced));
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
