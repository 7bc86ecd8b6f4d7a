#include "text/subword_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "text/subword_merges.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

constexpr const char* kSubwordsFormat = "roformer subwords";
constexpr int kSubwordsVersion = 1;
constexpr std::string_view kJoiner = "@@";
constexpr std::array<const char*, 4> kSubwordsSpecialPieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
constexpr auto kFirstPiece = static_cast<TokenId>(kSubwordsSpecialPieces.size());
constexpr TokenId kUnknownSubword = 1;

using Merges = std::vector<std::pair<std::string, std::string>>;

class SubwordTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  SubwordTokenizer(std::string contents, const Merges& merges, WordEnd word_end,
                   std::vector<std::string> pieces)
      : contents_(std::move(contents)), merges_(merges, word_end), pieces_(std::move(pieces)) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      ids_.emplace(pieces_[i], kFirstPiece + static_cast<TokenId>(i));
    }
  }

  void encode(std::string_view raw, std::vector<TokenId>& ids) const override {
    std::string repaired;
    std::uint64_t replaced = 0;
    const std::string_view text = repair_utf8(raw, repaired, replaced);
    count_invalid_sequences(replaced);
    WordCachePool::Lease cache(caches_);
    for (std::size_t position = 0; position < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" \r\n", position), text.size());
      const std::string_view word = text.substr(position, end - position);
      position = end + 1;
      if (word.empty() || (*cache).find(word, ids)) continue;
      const std::size_t before = ids.size();
      encode_word(word, ids);
      (*cache).insert(word, std::span<const TokenId>(ids).subspan(before));
    }
  }

  // Words apart by spaces, as in the tokenised text. An unknown piece is written as U+FFFD.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    bool inside_word = true;
    for (const TokenId id : ids) {
      if (is_special(id) && id != kUnknownSubword && !with_special) continue;
      if (!inside_word) text += ' ';
      std::string written = piece(id);
      if (id == kUnknownSubword && !with_special) {
        written.clear();
        append_utf8(written, 0xFFFD);
      }
      inside_word = !is_special(id) && written.ends_with(kJoiner);
      if (inside_word) written.resize(written.size() - kJoiner.size());
      text += written;
    }
    return text;
  }

  std::int64_t vocabulary_size() const override {
    return kFirstPiece + static_cast<std::int64_t>(pieces_.size());
  }
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    return id < kFirstPiece ? kSubwordsSpecialPieces[static_cast<std::size_t>(id)]
                            : pieces_[static_cast<std::size_t>(id - kFirstPiece)];
  }
  const SpecialTokens& special() const override { return special_; }
  // The joiner stands at the end of pieces: whether a piece begins a word, the one before it says.
  // There is no [MASK], so nobody masks whole words.
  bool begins_word(TokenId) const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::subwords; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override { return "subwords"; }

 private:
  std::string contents_;
  SubwordMerges merges_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, TokenId> ids_;
  SpecialTokens special_{
      .padding = 0, .unknown = kUnknownSubword, .classification = 2, .separator = 3, .mask = -1};
  mutable WordCachePool caches_;

  TokenId find(const SubwordPiece& piece) const {
    std::string text(piece.text);
    if (!piece.ends_word) text += kJoiner;
    const auto found = ids_.find(text);
    return found == ids_.end() ? kUnknownSubword : found->second;
  }
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const {
    const auto known = [&](const SubwordPiece& piece) { return find(piece) != kUnknownSubword; };
    for (const SubwordPiece& piece : merges_.split(word, known)) ids.push_back(find(piece));
  }
};

// Calls take(line, number) for each line that is not empty.
template <class Take>
void for_each_line(std::string_view text, const std::string& location, Take take) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    std::string repaired;
    std::uint64_t replaced = 0;
    repair_utf8(line, repaired, replaced);
    if (replaced > 0) throw_failure(fmt::format("{}:{}", location, number), "is not valid UTF-8");
    if (!line.empty()) take(line, number);
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
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
  WordEnd word_end = WordEnd::separate;  // what a file without a version means
};

Codes parse_codes(const SubwordFiles& files) {
  Codes codes;
  bool fast_bpe = false;
  for_each_line(files.codes, files.codes_location, [&](std::string_view line, std::int64_t number) {
    const auto location = [&] { return fmt::format("{}:{}", files.codes_location, number); };
    const std::vector<std::string_view> words = words_of(line);
    if (number == 1 && line.starts_with("#version:")) {
      const std::string_view version = words.back();
      if (version != "0.1" && version != "0.2") {
        throw_failure(location(), fmt::format("has version {}, wanted 0.1 or 0.2", version));
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
      throw_failure(location(),
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

std::vector<std::string> parse_vocabulary(const SubwordFiles& files) {
  std::vector<std::string> pieces;
  std::unordered_map<std::string, std::int64_t> line_of;
  for_each_line(
      files.vocabulary, files.vocabulary_location, [&](std::string_view line, std::int64_t number) {
        const auto location = [&] {
          return fmt::format("{}:{}", files.vocabulary_location, number);
        };
        const std::vector<std::string_view> words = words_of(line);
        std::int64_t count = 0;
        if (words.size() == 2 && is_count(words[1])) {
          std::from_chars(words[1].data(), words[1].data() + words[1].size(), count);
        } else {
          throw_failure(location(),
                        fmt::format("\"{}\" is no entry, wanted a piece and its count", line),
                        "give the vocabulary of `subword-nmt get-vocab` or a dict.txt of fairseq");
        }
        if (count < files.threshold) return;
        const auto [first, is_new] = line_of.emplace(words[0], number);
        if (!is_new) {
          throw_failure(location(),
                        fmt::format("\"{}\" stands in line {} already", words[0], first->second));
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

std::string subword_model(const SubwordFiles& files) {
  const Codes codes = parse_codes(files);
  nlohmann::ordered_json merges = nlohmann::ordered_json::array();
  for (const auto& [left, right] : codes.merges) merges.push_back(left + " " + right);
  const nlohmann::ordered_json json = {
      {"format", kSubwordsFormat},
      {"version", kSubwordsVersion},
      {"word_end", codes.word_end == WordEnd::attached ? "attached" : "separate"},
      {"pieces", parse_vocabulary(files)},
      {"merges", merges}};
  return json.dump() + "\n";
}

bool is_subword_model(std::string_view contents) {
  if (!contents.starts_with('{')) return false;
  const auto json = try_parse_json(contents);
  return json && json->is_object() && json->value("format", nlohmann::json()) == kSubwordsFormat;
}

std::unique_ptr<Tokenizer> make_subword_tokenizer(std::string contents,
                                                  const std::string& location) {
  const auto json = parse_json(contents, location);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kSubwordsFormat) {
    throw_failure(location,
                  fmt::format("is not a subword model: no \"format\": \"{}\"", kSubwordsFormat));
  }
  const auto version = json.value("version", nlohmann::json());
  if (version != kSubwordsVersion) {
    throw_failure(location, fmt::format("has version {}, this program reads version {}",
                                        describe_json(version), kSubwordsVersion));
  }
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
