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
#include "text/characters.h"
#include "text/normal_form.h"
#include "text/split_pattern.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

// As in the tokenizers' decoder, a piece with a character outside the alphabet stays unchanged.
std::string bytes_of_piece(const std::string& piece) {
  return byte_alphabet().bytes_of(piece).value_or(piece);
}

// Byte-pair encoding over ids (Sennrich et al. 2016): among all neighbours that a rule joins, those
// of the earliest rule are joined first, from left to right. A heap of candidates makes that n log
// n in the length of the word.
class BytePairMerges {
 public:
  // The rules in their order. The later of two rules for the same pair counts.
  explicit BytePairMerges(const std::vector<BytePairMerge>& merges);

  void apply(std::vector<TokenId>& symbols) const;

 private:
  struct Rule {
    std::int32_t rank = 0;
    TokenId merged = 0;
  };
  struct PairHash {
    std::size_t operator()(std::uint64_t pair) const {
      pair = (pair ^ pair >> 31) * 0x9e3779b97f4a7c15ULL;
      return pair ^ pair >> 29;
    }
  };
  std::unordered_map<std::uint64_t, Rule, PairHash> rules_;

  const Rule* find(TokenId left, TokenId right) const;
};

constexpr TokenId kJoined = -1;  // went into the symbol before it
constexpr std::int32_t kNoSymbol = -1;

struct MergeSymbol {
  TokenId id = 0;
  std::int32_t previous = kNoSymbol, next = kNoSymbol;
};

struct MergeCandidate {
  std::int32_t rank = 0, position = 0;
  TokenId merged = 0;
};

// For a heap whose top is the earliest rule's leftmost place.
bool comes_later(const MergeCandidate& a, const MergeCandidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

std::uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

BytePairMerges::BytePairMerges(const std::vector<BytePairMerge>& merges) {
  rules_.reserve(merges.size());
  std::int32_t rank = 0;
  for (const BytePairMerge& merge : merges) {
    rules_[pair_of(merge.left, merge.right)] = {.rank = rank++, .merged = merge.merged};
  }
}

const BytePairMerges::Rule* BytePairMerges::find(TokenId left, TokenId right) const {
  const auto found = rules_.find(pair_of(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void BytePairMerges::apply(std::vector<TokenId>& ids) const {
  std::vector<MergeSymbol> symbols(ids.size());
  std::vector<MergeCandidate> heap;
  const auto count = static_cast<std::int32_t>(ids.size());
  const auto at = [&symbols](std::int32_t i) -> MergeSymbol& {
    return symbols[static_cast<std::size_t>(i)];
  };
  const auto consider = [&](std::int32_t position) {
    const MergeSymbol& symbol = at(position);
    if (symbol.next == kNoSymbol) return;
    if (const Rule* const rule = find(symbol.id, at(symbol.next).id)) {
      heap.push_back({.rank = rule->rank, .position = position, .merged = rule->merged});
      std::push_heap(heap.begin(), heap.end(), comes_later);
    }
  };
  for (std::int32_t i = 0; i < count; ++i) {
    at(i) = {.id = ids[static_cast<std::size_t>(i)],
             .previous = i - 1,
             .next = i + 1 < count ? i + 1 : kNoSymbol};
  }
  for (std::int32_t i = 0; i < count; ++i) consider(i);

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    const MergeCandidate top = heap.back();
    heap.pop_back();
    MergeSymbol& left = at(top.position);
    if (left.id == kJoined || left.next == kNoSymbol) continue;
    // The neighbours may have changed by now. If they still give the same piece, they are joined,
    // as in Hugging Face's tokenizers.
    MergeSymbol& right = at(left.next);
    const Rule* const rule = find(left.id, right.id);
    if (rule == nullptr || rule->merged != top.merged) continue;
    left.id = top.merged;
    left.next = right.next;
    right.id = kJoined;
    if (left.next != kNoSymbol) at(left.next).previous = top.position;
    if (left.previous != kNoSymbol) consider(left.previous);
    consider(top.position);
  }
  ids.clear();
  for (const MergeSymbol& symbol : symbols) {
    if (symbol.id != kJoined) ids.push_back(symbol.id);
  }
}

class ByteLevelTokenizer final : public VocabularyTokenizer {
 public:
  ByteLevelTokenizer(std::string contents, ByteLevelFile file, const std::string& location)
      : VocabularyTokenizer(TokenizerKind::byte_level, std::move(contents)),
        bytes_(file.pieces.size()),
        hidden_(file.pieces.size()),
        merges_(file.merges),
        whole_words_first_(file.whole_words_first),
        joins_unknown_(file.joins_unknown),
        unknown_(file.model_unknown),
        text_start_(file.text_start) {
    pieces_ = std::move(file.pieces);
    special_ = file.special;
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

  // Bytes that are not UTF-8, such as half a character, are written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string bytes;
    for (const TokenId id : ids) {
      const std::size_t index = index_of(id);
      if (with_special || !hidden_[index]) bytes += bytes_[index];
    }
    return std::string(ValidText(bytes).text);
  }

  // White space and punctuation begin a word; so does a piece after white space (find_words).
  bool begins_word(TokenId id) const override {
    const std::string& bytes = bytes_[index_of(id)];
    if (bytes.empty() || hidden_[index_of(id)]) return true;
    const auto first = static_cast<unsigned char>(bytes[0]);
    const bool letter = (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z') ||
                        (first >= 'a' && first <= 'z') || first >= 128;
    return !letter;
  }
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
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
  bool keeps_line_ends() const override { return true; }

 private:
  struct Step {
    CuttingStep settings;
    std::optional<SplitPattern> pattern;
  };

  std::vector<std::string> bytes_;  // of the pieces
  std::vector<bool> hidden_;        // special tokens: not in a text
  BytePairMerges merges_;
  bool whole_words_first_, joins_unknown_;
  TokenId unknown_, text_start_;
  MaskSpaces mask_spaces_;
  std::array<TokenId, 256> byte_ids_{};
  // The ids of whole words by their bytes. Filled only if whole words are taken before merges.
  std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> words_;
  std::vector<NormalForm> normal_forms_;
  std::vector<Step> steps_;
  LayeredTokens added_;
  mutable WordCachePool caches_;

  void encode_text(std::string_view text, SpecialNames names,
                   std::vector<TokenId>& ids) const override {
    WordCachePool::Lease cache(caches_);
    std::int64_t effort =
        SplitPattern::effort_for(text.size()) * static_cast<std::int64_t>(steps_.size());
    std::function<std::string(std::string_view)> normalized;
    if (!normal_forms_.empty() || added_.may_find_in_normal_text(names)) {
      normalized = [this](std::string_view part) { return normalize(part); };
    }
    added_.split(
        text, names, normalized, [&](std::string_view part) { cut(0, part, effort, *cache, ids); },
        [&](TokenId id) { ids.push_back(id); });
  }

  // Only pieces in the alphabet can be found in words, which are made of bytes.
  void index_piece(TokenId id) {
    const auto index = static_cast<std::size_t>(id);
    if (!byte_alphabet().bytes_of(pieces_[index])) return;
    const std::string& bytes = bytes_[index];
    if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = id;
    if (whole_words_first_) words_.emplace(bytes, id);
  }

  void add(AddedToken token) {
    if (token.special) hidden_[index_of(token.id)] = true;
    if (token.id == special_.mask) {
      mask_spaces_ = {.before = token.takes_before, .behind = token.takes_behind};
    }
    if (token.normalized) {
      // The piece is the text by which the token is found.
      token.content = normalize(token.content);
      pieces_[index_of(token.id)] = token.content;
      bytes_[index_of(token.id)] = bytes_of_piece(token.content);
    }
    added_.insert(std::move(token));
  }

  std::string normalize(std::string_view text) const {
    std::string result(text);
    for (const NormalForm& form : normal_forms_) result = form.apply(result);
    return result;
  }

  // Applies the steps from `number` on.
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
    cache.append(word, ids, [&] {
      if (const auto whole = words_.find(word); whole != words_.end()) {
        ids.push_back(whole->second);
        return;
      }
      std::vector<TokenId> symbols = symbols_of(word);
      merges_.apply(symbols);
      ids.insert(ids.end(), symbols.begin(), symbols.end());
    });
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
