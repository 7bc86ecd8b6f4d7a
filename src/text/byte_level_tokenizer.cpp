#include "text/byte_level_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/text_hash.h"
#include "text/byte_alphabet.h"
#include "text/byte_level_file.h"
#include "text/normal_form.h"
#include "text/split_pattern.h"
#include "text/unspaced_script.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

// The one byte that a piece of the model stands for; -1: none or several.
int single_byte(const std::string& piece) {
  const auto& characters = byte_characters();
  const auto found = std::find(characters.begin(), characters.end(), piece);
  return found == characters.end() ? -1 : static_cast<int>(found - characters.begin());
}

// Whether a text in the alphabet of bytes has only its letters.
bool is_in_alphabet(const std::string& piece, const std::string& bytes) {
  std::string written;
  for (const char byte : bytes) written += byte_characters()[static_cast<unsigned char>(byte)];
  return written == piece;
}

class ByteLevelTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  ByteLevelTokenizer(std::string contents, ByteLevelFile file, const std::string& location)
      : contents_(std::move(contents)),
        pieces_(std::move(file.pieces)),
        bytes_(pieces_.size()),
        hidden_(pieces_.size()),
        merges_(file.merges),
        whole_words_first_(file.whole_words_first),
        joins_unknown_(file.joins_unknown),
        unknown_(file.model_unknown),
        text_start_(file.text_start),
        special_(file.special) {
    byte_ids_.fill(-1);
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      bytes_[id] = bytes_of_piece(pieces_[id]);
      if (file.in_model[id]) index_piece(static_cast<TokenId>(id));
    }
    for (const std::string& name : file.normal_forms) normal_forms_.emplace_back(name);
    for (CuttingStep& step : file.steps) {
      std::optional<SplitPattern> pattern;
      if (!step.pattern.empty()) pattern.emplace(step.pattern, location);
      steps_.push_back({.settings = std::move(step), .pattern = std::move(pattern)});
    }
    for (AddedToken& token : file.added) add(std::move(token));
  }

  void encode(std::string_view raw, std::vector<TokenId>& ids) const override {
    encode(raw, SpecialNames::letters, ids);
  }
  void encode_prompt(std::string_view raw, std::vector<TokenId>& ids) const override {
    encode(raw, SpecialNames::tokens, ids);
  }

  // What is no UTF-8, as half a character, is written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string bytes;
    for (const TokenId id : ids) {
      const std::size_t index = checked(id);
      if (with_special || !hidden_[index]) bytes += bytes_[index];
    }
    std::string repaired;
    std::uint64_t replaced = 0;
    return std::string(repair_utf8(bytes, repaired, replaced));
  }

  std::int64_t vocabulary_size() const override {
    return static_cast<std::int64_t>(pieces_.size());
  }
  std::string piece(TokenId id) const override { return pieces_[checked(id)]; }
  const SpecialTokens& special() const override { return special_; }
  // White space and punctuation begin one; what follows a piece that ends in white space begins
  // one, too (find_words).
  bool begins_word(TokenId id) const override {
    const std::string& bytes = bytes_[checked(id)];
    if (bytes.empty() || hidden_[checked(id)]) return true;
    const auto first = static_cast<unsigned char>(bytes[0]);
    const bool letter = (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z') ||
                        (first >= 'a' && first <= 'z') || first >= 128;
    return !letter;
  }
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string* const before = i == 0 ? nullptr : &bytes_[checked(ids[i - 1])];
      constexpr std::string_view kWhite = " \t\r\n\f\v";
      const bool behind_white = before == nullptr || before->empty() ||
                                kWhite.find(before->back()) != std::string_view::npos;
      // A space and the word behind it are one word, though they may be two pieces.
      const bool lone_space = before != nullptr && *before == " ";
      if (behind_white && !lone_space) begins[i] = 1;
      const bool unspaced =
          begins_unspaced(bytes_[checked(ids[i])]) || (before != nullptr && ends_unspaced(*before));
      if (unspaced && !lone_space) begins[i] = 1;
    }
  }
  MaskSpaces mask_spaces() const override { return mask_spaces_; }
  TokenId text_start() const override { return text_start_; }
  bool keeps_line_ends() const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::byte_level; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override { return "byte_level"; }

 private:
  struct Step {
    CuttingStep settings;
    std::optional<SplitPattern> pattern;
  };

  std::string contents_;
  std::vector<std::string> pieces_;  // as they are written
  std::vector<std::string> bytes_;   // that they stand for
  std::vector<bool> hidden_;         // special tokens: not in a text
  BytePairMerges merges_;
  bool whole_words_first_, joins_unknown_;
  TokenId unknown_, text_start_;
  SpecialTokens special_;
  MaskSpaces mask_spaces_;
  std::array<TokenId, 256> byte_ids_{};
  // By bytes; where whole words come first.
  std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> words_;
  std::vector<NormalForm> normal_forms_;
  std::vector<Step> steps_;
  AddedTokens added_to_text_, added_to_normal_text_;
  mutable WordCachePool caches_;

  std::size_t checked(TokenId id) const {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    return static_cast<std::size_t>(id);
  }

  void encode(std::string_view raw, SpecialNames special, std::vector<TokenId>& ids) const {
    std::string repaired;
    std::uint64_t replaced = 0;
    const std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);
    WordCachePool::Lease cache(caches_);
    std::int64_t effort =
        SplitPattern::effort_for(text.size()) * static_cast<std::int64_t>(steps_.size());
    const auto on_token = [&ids](TokenId id) { ids.push_back(id); };
    added_to_text_.split(
        text, special,
        [&](std::string_view part) {
          const std::string normal = normal_forms_.empty() ? std::string() : normalize(part);
          added_to_normal_text_.split(
              normal_forms_.empty() ? part : normal, special,
              [&](std::string_view rest) { cut(0, rest, effort, *cache, ids); }, on_token);
        },
        on_token);
  }

  // Only what is written in the alphabet can be met: words are.
  void index_piece(TokenId id) {
    const auto index = static_cast<std::size_t>(id);
    if (!is_in_alphabet(pieces_[index], bytes_[index])) return;
    if (bytes_[index].size() == 1) {
      byte_ids_[static_cast<std::size_t>(single_byte(pieces_[index]))] = id;
    }
    if (whole_words_first_) words_.emplace(bytes_[index], id);
  }

  void add(AddedToken token) {
    if (token.special) hidden_[checked(token.id)] = true;
    if (token.id == special_.mask) {
      mask_spaces_ = {.before = token.takes_before, .behind = token.takes_behind};
    }
    if (!token.normalized) {
      added_to_text_.insert(std::move(token));
      return;
    }
    // Its piece is what it is found by.
    token.content = normalize(token.content);
    pieces_[checked(token.id)] = token.content;
    bytes_[checked(token.id)] = bytes_of_piece(token.content);
    added_to_normal_text_.insert(std::move(token));
  }

  std::string normalize(std::string_view text) const {
    std::string result(text);
    for (const NormalForm& form : normal_forms_) result = form.apply(result);
    return result;
  }

  // From step `number` on.
  void cut(std::size_t number, std::string_view text, std::int64_t& effort, WordCache& cache,
           std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    if (number == steps_.size()) {
      append_word(text, cache, ids);
      return;
    }
    const Step& step = steps_[number];
    std::string prefixed;
    if (step.settings.prefix_space && !text.starts_with(' ')) {
      prefixed = " ";
      prefixed += text;
      text = prefixed;
    }
    if (!step.pattern) {
      cut(number + 1, text, effort, cache, ids);
      return;
    }
    for (std::size_t position = 0; position < text.size();) {
      const SplitPattern::Match match = step.pattern->find(text, position, effort);
      if (!step.settings.drops_rest) {
        cut(number + 1, text.substr(position, match.begin - position), effort, cache, ids);
      }
      if (!step.settings.drops_matches) {
        cut(number + 1, text.substr(match.begin, match.end - match.begin), effort, cache, ids);
      }
      position = match.end;
    }
  }

  void append_word(std::string_view word, WordCache& cache, std::vector<TokenId>& ids) const {
    if (cache.find(word, ids)) return;
    const std::size_t before = ids.size();
    const auto whole = words_.find(word);
    if (whole != words_.end()) {
      ids.push_back(whole->second);
    } else {
      std::vector<TokenId> symbols = symbols_of(word);
      merges_.apply(symbols);
      ids.insert(ids.end(), symbols.begin(), symbols.end());
    }
    cache.insert(word, std::span<const TokenId>(ids).subspan(before));
  }

  std::vector<TokenId> symbols_of(std::string_view word) const {
    std::vector<TokenId> symbols;
    symbols.reserve(word.size());
    bool after_unknown = false;
    for (const char byte : word) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
      if (id >= 0) {
        symbols.push_back(id);
      } else if (unknown_ >= 0 && !(after_unknown && joins_unknown_)) {
        symbols.push_back(unknown_);
      }
      after_unknown = id < 0;
    }
    return symbols;
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level_tokenizer(std::string contents,
                                                     const std::string& location) {
  ByteLevelFile file = parse_byte_level_file(contents, location);
  return std::make_unique<ByteLevelTokenizer>(std::move(contents), std::move(file), location);
}

}  // namespace roformer
