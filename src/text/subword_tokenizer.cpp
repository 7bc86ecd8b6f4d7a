#include "text/subword_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

constexpr std::string_view kWordEnd = "</w>";

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

constexpr std::string_view kSubwordsFormat = "roformer subwords";
constexpr std::string_view kJoiner = "@@";

using Merges = std::vector<std::pair<std::string, std::string>>;

class SubwordTokenizer final : public VocabularyTokenizer {
 public:
  SubwordTokenizer(std::string contents, const Merges& merges, WordEnd word_end,
                   const std::vector<std::string>& pieces)
      : VocabularyTokenizer(TokenizerKind::subwords, std::move(contents)),
        merges_(merges, word_end) {
    pieces_ = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
    special_ = {.padding = 0, .unknown = 1, .classification = 2, .separator = 3, .mask = -1};
    for (const std::string& piece : pieces) {
      ids_.emplace(piece, static_cast<TokenId>(pieces_.size()));
      pieces_.push_back(piece);
    }
  }

  // Words with spaces between, as in the tokenised text. An unknown piece is written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    bool inside_word = true;
    for (const TokenId id : ids) {
      if (is_special(id) && id != special_.unknown && !with_special) continue;
      if (!inside_word) text += ' ';
      std::string written = piece(id);
      if (id == special_.unknown && !with_special) {
        written.clear();
        append_utf8(written, 0xFFFD);
      }
      inside_word = !is_special(id) && written.ends_with(kJoiner);
      if (inside_word) written.resize(written.size() - kJoiner.size());
      text += written;
    }
    return text;
  }

  // Only the joiner at the end of the piece before says whether a piece begins a word. There is no
  // [MASK], so nobody masks whole words.
  bool begins_word(TokenId) const override { return true; }

 private:
  SubwordMerges merges_;
  std::unordered_map<std::string, TokenId> ids_;
  mutable WordCachePool caches_;

  void encode_text(std::string_view text, SpecialNames, std::vector<TokenId>& ids) const override {
    WordCachePool::Lease cache(caches_);
    const auto known = [&](const SubwordPiece& piece) { return find(piece) != special_.unknown; };
    for (std::size_t position = 0; position < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" \r\n", position), text.size());
      const std::string_view word = text.substr(position, end - position);
      position = end + 1;
      if (word.empty()) continue;
      (*cache).append(word, ids, [&] {
        for (const SubwordPiece& piece : merges_.split(word, known)) ids.push_back(find(piece));
      });
    }
  }

  TokenId find(const SubwordPiece& piece) const {
    std::string text(piece.text);
    if (!piece.ends_word) text += kJoiner;
    const auto found = ids_.find(text);
    return found == ids_.end() ? special_.unknown : found->second;
  }
};

// Calls take(line, its location, its number) for each line that is not empty.
template <class Take>
void for_each_entry(std::string_view text, const std::string& location, Take take) {
  for_each_text_line(text, [&](std::string_view line, std::int64_t number) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    const std::string where = fmt::format("{}:{}", location, number);
    if (!is_valid_utf8(line)) throw_failure(where, "is not valid UTF-8");
    if (!line.empty()) take(line, where, number);
  });
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t end = line.find(' ');
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end + 1);
  }
}

bool is_count(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Codes {
  Merges merges;
  WordEnd word_end = WordEnd::separate;  // the meaning of a file without a version
};

Codes parse_codes(const SubwordFiles& files) {
  Codes codes;
  bool fast_bpe = false;
  for_each_entry(
      files.codes, files.codes_location,
      [&](std::string_view line, const std::string& location, std::int64_t number) {
        const std::vector<std::string_view> words = words_in(line);
        if (number == 1 && line.starts_with("#version:")) {
          const std::string_view version = words.back();
          if (version != "0.1" && version != "0.2") {
            throw_failure(location, fmt::format("has version {}, wanted 0.1 or 0.2", version));
          }
          codes.word_end = version == "0.2" ? WordEnd::attached : WordEnd::separate;
          return;
        }
        const bool with_count = words.size() == 3 && is_count(words[2]);
        if (codes.merges.empty() && with_count) {
          fast_bpe = true;
          codes.word_end = WordEnd::attached;
        }
        if (with_count != fast_bpe || (!with_count && words.size() != 2) || words[0].empty() ||
            words[1].empty()) {
          throw_failure(location,
                        fmt::format("\"{}\" is no merge, wanted two pieces and a space between"
                                    " them{}",
                                    line, fast_bpe ? ", then a count" : ""),
                        "give the codes of `subword-nmt learn-bpe` or fastBPE");
        }
        codes.merges.emplace_back(words[0], words[1]);
      });
  if (codes.merges.empty()) throw_failure(files.codes_location, "holds no merges");
  return codes;
}

std::vector<std::string> parse_pieces(const SubwordFiles& files) {
  std::vector<std::string> pieces;
  std::unordered_map<std::string, std::int64_t> line_of;
  for_each_entry(
      files.vocabulary, files.vocabulary_location,
      [&](std::string_view line, const std::string& location, std::int64_t number) {
        const std::vector<std::string_view> words = words_in(line);
        std::int64_t count = 0;
        if (words.size() == 2 && is_count(words[1])) {
          std::from_chars(words[1].data(), words[1].data() + words[1].size(), count);
        } else {
          throw_failure(location,
                        fmt::format("\"{}\" is no entry, wanted a piece and its count", line),
                        "give the vocabulary of `subword-nmt get-vocab` or a dict.txt of fairseq");
        }
        if (count < files.threshold) return;
        const auto [first, is_new] = line_of.emplace(words[0], number);
        if (!is_new) {
          throw_failure(location,
                        fmt::format("\"{}\" is in line {} already", words[0], first->second));
        }
        pieces.emplace_back(words[0]);
      });
  if (pieces.empty()) {
    throw_failure(files.vocabulary_location,
                  files.threshold > 0
                      ? fmt::format("holds no piece with a count of {}", files.threshold)
                      : "holds no pieces");
  }
  return pieces;
}

}  // namespace

SubwordMerges::SubwordMerges(const std::vector<std::pair<std::string, std::string>>& merges,
                             WordEnd word_end)
    : word_end_(word_end) {
  const auto intern = [&](const std::string& text) {
    return symbols_.emplace(text, static_cast<Symbol>(symbols_.size())).first->second;
  };
  // Walks from the last to the first, so that the first of equals stays, as in subword-nmt. A pair
  // keeps its first place in this walk, which decides between pairs that join to the same text.
  for (std::size_t i = merges.size(); i-- > 0;) {
    const auto& [left, right] = merges[i];
    const std::uint64_t key = pair_key(intern(left), intern(right));
    const Merge merge{.rank = static_cast<std::int32_t>(i), .result = intern(left + right)};
    const bool is_new = merges_.insert_or_assign(key, merge).second;
    if (is_new) left_of_[left + right] = left.size();
  }
}

SubwordMerges::Symbol SubwordMerges::symbol_of(const std::string& text) const {
  const auto found = symbols_.find(text);
  return found == symbols_.end() ? kOther : found->second;
}

// The earliest pair of all is merged everywhere at once, from the left, then the earliest of what
// there is then. A heap of pairs makes that n log n in the length of the word.
void SubwordMerges::merge_parts(std::vector<Part>& parts) const {
  const std::size_t none = parts.size();
  std::vector<std::size_t> next(parts.size()), previous(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    next[i] = i + 1;
    previous[i] = i == 0 ? none : i - 1;
  }
  const auto rank_at = [&](std::size_t i) {
    if (next[i] == none || parts[i].symbol == kOther || parts[next[i]].symbol == kOther) return -1;
    const auto found = merges_.find(pair_key(parts[i].symbol, parts[next[i]].symbol));
    return found == merges_.end() ? -1 : found->second.rank;
  };
  using Candidate = std::pair<std::int32_t, std::size_t>;  // rank, index of the left part
  std::vector<Candidate> heap;
  const auto consider = [&](std::size_t i) {
    if (const std::int32_t rank = i == none ? -1 : rank_at(i); rank >= 0) {
      heap.emplace_back(rank, i);
      std::ranges::push_heap(heap, std::greater<>());
    }
  };
  for (std::size_t i = 0; i < parts.size(); ++i) consider(i);
  std::vector<std::size_t> places;
  while (!heap.empty()) {
    const std::int32_t rank = heap.front().first;
    places.clear();
    while (!heap.empty() && heap.front().first == rank) {
      std::ranges::pop_heap(heap, std::greater<>());
      const std::size_t i = heap.back().second;
      heap.pop_back();
      if (next[i] != i && rank_at(i) == rank && (places.empty() || places.back() != i)) {
        places.push_back(i);
      }
    }
    std::erase_if(places, [&](std::size_t i) {
      if (next[i] == i) return true;  // merged into the part before it, just now
      const std::size_t right = next[i];
      const auto key = pair_key(parts[i].symbol, parts[right].symbol);
      parts[i].symbol = merges_.at(key).result;
      parts[i].end = parts[right].end;
      parts[i].ends_word = parts[right].ends_word;
      next[i] = next[right];
      if (next[i] != none) previous[next[i]] = i;
      next[right] = right;  // gone
      return false;
    });
    for (const std::size_t i : places) {
      consider(previous[i]);
      consider(i);
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (next[i] != i) parts[kept++] = parts[i];
  }
  parts.resize(kept);
}

std::vector<SubwordMerges::Part> SubwordMerges::merge(std::string_view word, bool ends_word) const {
  std::vector<Part> parts;
  for (std::size_t position = 0; position < word.size();) {
    const std::size_t begin = position;
    next_code_point(word, position);
    const bool last = ends_word && position == word.size() && word_end_ == WordEnd::attached;
    std::string text(word.substr(begin, position - begin));
    if (last) text += kWordEnd;
    parts.push_back(
        {.begin = begin, .end = position, .ends_word = last, .symbol = symbol_of(text)});
  }
  if (ends_word && word_end_ == WordEnd::separate) {
    parts.push_back({.begin = word.size(),
                     .end = word.size(),
                     .ends_word = true,
                     .symbol = symbol_of(std::string(kWordEnd))});
  }
  merge_parts(parts);
  if (parts.size() > 1 && parts.back().begin == parts.back().end) {
    parts.pop_back();
    parts.back().ends_word = true;
  }
  return parts;
}

void SubwordMerges::take_apart(const SubwordPiece& piece,
                               const std::function<bool(const SubwordPiece&)>& known,
                               std::vector<SubwordPiece>& pieces) const {
  std::string text(piece.text);
  if (piece.ends_word) text += kWordEnd;
  const auto found = left_of_.find(text);
  const std::size_t left_bytes = found == left_of_.end() ? 0 : found->second;
  if (left_bytes == 0 || left_bytes > piece.text.size()) {
    pieces.push_back(piece);
    return;
  }
  // If the right half is only the end mark, subword-nmt drops it and writes the left half as if the
  // word continued.
  for (const SubwordPiece& half :
       {SubwordPiece{.text = piece.text.substr(0, left_bytes), .ends_word = false},
        SubwordPiece{.text = piece.text.substr(left_bytes), .ends_word = piece.ends_word}}) {
    if (half.text.empty()) continue;
    if (known(half)) {
      pieces.push_back(half);
    } else {
      take_apart(half, known, pieces);
    }
  }
}

std::vector<SubwordPiece> SubwordMerges::split(
    std::string_view word, const std::function<bool(const SubwordPiece&)>& known) const {
  // Merging takes quadratic time. Longer texts are no words and are split in runs of this many
  // bytes.
  constexpr std::size_t kLongestWord = 1000;
  std::vector<SubwordPiece> pieces;
  std::size_t first_character = 0;
  if (!word.empty()) next_code_point(word, first_character);
  if (first_character == word.size() && !word.empty()) return {{.text = word, .ends_word = true}};
  while (!word.empty()) {
    std::size_t end = word.size();
    if (end > kLongestWord) {
      end = kLongestWord;
      while (is_continuation_byte(word[end])) --end;
    }
    const std::string_view run = word.substr(0, end);
    word.remove_prefix(end);
    for (const Part& part : merge(run, word.empty())) {
      const SubwordPiece piece{.text = run.substr(part.begin, part.end - part.begin),
                               .ends_word = part.ends_word};
      if (known(piece)) {
        pieces.push_back(piece);
      } else {
        take_apart(piece, known, pieces);
      }
    }
  }
  return pieces;
}

std::string subword_model(const SubwordFiles& files) {
  const Codes codes = parse_codes(files);
  nlohmann::ordered_json merges = nlohmann::ordered_json::array();
  for (const auto& [left, right] : codes.merges) merges.push_back(left + " " + right);
  const nlohmann::ordered_json json = {
      {"format", kSubwordsFormat},
      {"version", 1},
      {"word_end", codes.word_end == WordEnd::attached ? "attached" : "separate"},
      {"pieces", parse_pieces(files)},
      {"merges", merges}};
  return json.dump() + "\n";
}

bool is_subword_model(std::string_view contents) {
  return is_vocabulary_json(contents, kSubwordsFormat);
}

std::unique_ptr<Tokenizer> make_subword_tokenizer(std::string contents,
                                                  const std::string& location) {
  const nlohmann::json json = parse_vocabulary_json(contents, kSubwordsFormat, location);
  const auto word_end = json.value("word_end", nlohmann::json());
  if (word_end != "attached" && word_end != "separate") {
    throw_failure(location, "\"word_end\" is neither \"attached\" nor \"separate\"");
  }
  const auto texts = [&](const char* key) {
    const auto list = json.value(key, nlohmann::json());
    if (!list.is_array() || list.empty()) {
      throw_failure(location, fmt::format("lacks the list \"{}\"", key));
    }
    std::vector<std::string> values;
    for (const auto& entry : list) {
      if (!entry.is_string() || entry.get_ref<const std::string&>().empty()) {
        throw_failure(location,
                      fmt::format("entry {} of \"{}\" is no text", values.size() + 1, key));
      }
      values.push_back(entry.get<std::string>());
    }
    return values;
  };
  Merges merges;
  for (const std::string& merge : texts("merges")) {
    const std::size_t space = merge.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == merge.size()) {
      throw_failure(location, fmt::format("\"{}\" is no merge of two pieces", merge));
    }
    merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  const WordEnd end = word_end == "attached" ? WordEnd::attached : WordEnd::separate;
  return std::make_unique<SubwordTokenizer>(std::move(contents), merges, end, texts("pieces"));
}

}  // namespace roformer
