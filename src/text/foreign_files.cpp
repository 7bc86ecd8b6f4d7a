#include "text/foreign_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/as_number.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text_hash.h"
#include "text/byte_alphabet.h"
#include "text/hugging_face_parts.h"
#include "text/split_pattern.h"
#include "text/vocabulary_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace foreign_files {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kVocabulary = "vocab.json";
constexpr const char* kMerges = "merges.txt";
constexpr const char* kPatternEnding = ".pattern";

ordered_json byte_level_step(bool prefix_space, bool use_regex) {
  ordered_json step = byte_level_json(use_regex);
  step["add_prefix_space"] = prefix_space;
  step["trim_offsets"] = true;
  return step;
}

ordered_json bpe_model(ordered_json vocabulary, ordered_json merges) {
  ordered_json model = byte_pair_json({}, std::move(merges));
  model["continuing_subword_prefix"] = model["end_of_word_suffix"] = "";
  model["vocab"] = std::move(vocabulary);
  return model;
}

std::string whole_file(const std::vector<AddedToken>& added, ordered_json pre_tokenizer,
                       ordered_json post_processor, ordered_json model) {
  return document_json({.pre_tokenizer = std::move(pre_tokenizer),
                        .model = std::move(model),
                        .decoder = byte_level_step(true, true),
                        .added = added},
                       std::move(post_processor))
      .dump();
}

// Lines of two pieces. The first line may name the version of the format.
ordered_json merges_of(const VocabularyAndMerges& files) {
  ordered_json merges = ordered_json::array();
  for_each_text_line(files.merges, [&](std::string_view line, std::int64_t number) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) return;
    const std::string where = fmt::format("{}: {}:{}", files.location, kMerges, number);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) {
      throw_failure(where, fmt::format("{} is no merge of two pieces", printable(line)));
    }
    if (line.ends_with("</w>")) {
      throw_failure(where, "marks the end of a word by \"</w>\", which is not read here",
                    "vocabularies of bytes, such as those of GPT-2 and RoBERTa, are");
    }
    merges.push_back({line.substr(0, space), line.substr(space + 1)});
  });
  return merges;
}

// The entries of tokenizer_config.json and added_tokens.json beside the vocabulary.
std::vector<AddedToken> added_beside(const fs::path& folder, const json& config) {
  std::vector<AddedToken> added;
  const auto add = [&](const json& entry, std::string_view id, const std::string& location) {
    AddedToken token = parse_added_token(entry, location);
    token.id = as_number<TokenId>(id).value_or(-1);
    if (token.id < 0) {
      throw_failure(location, fmt::format("{} is no id of an added token", printable(id)));
    }
    added.push_back(std::move(token));
  };
  if (const json decoder = json_or_null(config, "added_tokens_decoder"); decoder.is_object()) {
    const std::string location = (folder / "tokenizer_config.json").string();
    for (const auto& [id, entry] : decoder.items()) add(entry, id, location);
  } else if (fs::exists(folder / "added_tokens.json")) {
    const fs::path file = folder / "added_tokens.json";
    const json older = read_json(file);
    if (!older.is_object()) throw_failure(file.string(), "does not hold a JSON object");
    for (const auto& [content, id] : older.items()) {
      add({{"content", content}}, id.dump(), file.string());
    }
  }
  std::ranges::sort(added, {}, &AddedToken::id);
  return added;
}

struct Encoding {
  std::string_view name;
  std::string_view pattern;
  std::vector<std::pair<const char*, TokenId>> special;
};

// The patterns and special tokens of tiktoken's encodings.
const std::vector<Encoding>& encodings() {
  static constexpr std::string_view kGpt4Pattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
      R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view kGpt4oPattern =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
      R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::vector<Encoding> all = {
      {"r50k_base", kGpt2Pattern, {{"<|endoftext|>", 50256}}},
      {"p50k_base", kGpt2Pattern, {{"<|endoftext|>", 50256}}},
      {"cl100k_base",
       kGpt4Pattern,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base", kGpt4oPattern, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}};
  return all;
}

// A rank and the bytes of its piece; nothing for another line.
std::optional<std::pair<std::string, TokenId>> parse_rank(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  const TokenId rank = as_number<TokenId>(line.substr(space + 1)).value_or(-1);
  std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  if (rank < 0 || !bytes || bytes->empty()) return std::nullopt;
  return std::pair(*std::move(bytes), rank);
}

using Ranks = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

// All pairs of pieces that together are a piece, in the order of their results.
ordered_json merges_of(const std::vector<std::pair<std::string, TokenId>>& pieces,
                       const Ranks& ranks) {
  struct Pair {
    TokenId left, right;
  };
  ordered_json merges = ordered_json::array();
  const ByteAlphabet& alphabet = byte_alphabet();
  for (const auto& [bytes, rank] : pieces) {
    const std::string_view whole = bytes;
    std::vector<std::pair<Pair, std::size_t>> found;  // and where the left piece ends
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      const auto left = ranks.find(whole.substr(0, cut));
      if (left == ranks.end()) continue;
      const auto right = ranks.find(whole.substr(cut));
      if (right != ranks.end()) found.push_back({{left->second, right->second}, cut});
    }
    std::ranges::sort(found, [](const auto& a, const auto& b) {
      return std::pair(a.first.left, a.first.right) < std::pair(b.first.left, b.first.right);
    });
    for (const auto& [pair, cut] : found) {
      merges.push_back(
          {alphabet.letters_of(whole.substr(0, cut)), alphabet.letters_of(whole.substr(cut))});
    }
  }
  return merges;
}

std::string read_pattern(const fs::path& ranks) {
  fs::path file = ranks;
  file += kPatternEnding;
  if (!fs::exists(file)) return ranks.filename().string();
  std::string pattern = read_file(file);
  while (pattern.ends_with('\n') || pattern.ends_with('\r')) pattern.pop_back();
  return pattern;
}

}  // namespace
}  // namespace foreign_files

std::string tokenizer_json_of(const VocabularyAndMerges& files) {
  using namespace foreign_files;
  const json vocabulary = parse_json(files.vocabulary, files.location, RepeatedNames::refused);
  if (!vocabulary.is_object() || vocabulary.empty()) {
    throw_failure(files.location, "is no vocabulary: an object of pieces and their ids");
  }
  // With the ids as the order, as the converters write them.
  std::vector<std::pair<std::int64_t, const std::string*>> pieces;
  for (const auto& [piece, id] : vocabulary.items()) {
    pieces.emplace_back(json_integer(id, files.location), &piece);
  }
  std::ranges::sort(pieces, {}, [](const auto& entry) { return entry.first; });
  ordered_json ids = ordered_json::object();
  for (const auto& [id, piece] : pieces) ids[*piece] = id;
  std::vector<AddedToken> added = files.added;
  for (const char* name : {"<s>", "<pad>", "</s>", "<unk>", "<|endoftext|>", "<mask>"}) {
    const auto known = std::ranges::find(added, name, &AddedToken::content);
    if (known != added.end() || !vocabulary.contains(name)) continue;
    added.push_back({.content = name,
                     .id = vocabulary[name].get<TokenId>(),
                     .special = true,
                     .takes_before = std::string_view(name) == "<mask>"});
  }
  std::ranges::sort(added, {}, &AddedToken::id);
  ordered_json around;
  if (vocabulary.contains("<s>") && vocabulary.contains("</s>")) {
    around = {{"type", "RobertaProcessing"},
              {"sep", {"</s>", vocabulary["</s>"]}},
              {"cls", {"<s>", vocabulary["<s>"]}},
              {"trim_offsets", true},
              {"add_prefix_space", files.prefix_space}};
  }
  return whole_file(added, byte_level_step(files.prefix_space, true), std::move(around),
                    bpe_model(std::move(ids), merges_of(files)));
}

bool is_tiktoken_file(std::string_view contents) {
  const std::string_view line = contents.substr(0, contents.find('\n'));
  return foreign_files::parse_rank(line).has_value();
}

std::string tokenizer_json_of_tiktoken(std::string_view ranks, std::string_view encoding,
                                       const std::string& location) {
  using namespace foreign_files;
  constexpr std::size_t kLongestPiece = 1024;  // bytes; each cut of it is looked up
  const auto known = std::ranges::find_if(encodings(), [&](const Encoding& one) {
    return encoding.find(one.name.substr(0, one.name.find('_'))) != std::string_view::npos;
  });
  std::string pattern(encoding);
  std::vector<std::pair<const char*, TokenId>> special;
  if (known != encodings().end()) {
    pattern = known->pattern;
    special = known->special;
  } else if (encoding.find('\\') == std::string_view::npos) {
    throw_failure(location, "holds tiktoken's ranks, but its name does not tell how to split text",
                  "name it as its encoding (r50k_base, p50k_base, cl100k_base, o200k_base), or "
                  "write the encoding's name or its pattern to FILE.pattern");
  }
  std::vector<std::pair<std::string, TokenId>> pieces;
  Ranks by_bytes;
  for_each_text_line(ranks, [&](std::string_view line, std::int64_t number) {
    if (line.empty()) return;
    auto piece = parse_rank(line);
    const std::string where = fmt::format("{}:{}", location, number);
    if (!piece) throw_failure(where, fmt::format("{} is no piece and rank", printable(line)));
    if (piece->first.size() > kLongestPiece) {
      throw_failure(where, fmt::format("has a piece of more than {} bytes", kLongestPiece));
    }
    if (!by_bytes.emplace(piece->first, piece->second).second) {
      throw_failure(where, "repeats an earlier piece");
    }
    pieces.push_back(*std::move(piece));
  });
  std::ranges::sort(pieces, {}, [](const auto& piece) { return piece.second; });
  ordered_json ids = ordered_json::object();
  for (const auto& [bytes, rank] : pieces) ids[byte_alphabet().letters_of(bytes)] = rank;
  std::vector<AddedToken> added;
  for (const auto& [name, id] : special) {
    // A small vocabulary with the pattern of a large one has no place for its special tokens.
    if (id > 2 * std::ssize(pieces)) continue;
    ids[name] = id;
    added.push_back({.content = name, .id = id, .special = true});
  }
  ordered_json model = bpe_model(std::move(ids), merges_of(pieces, by_bytes));
  model["ignore_merges"] = true;
  model["equal_ranks"] = true;
  const ordered_json split = {{"type", "Split"},
                              {"pattern", {{"Regex", pattern}}},
                              {"behavior", "Isolated"},
                              {"invert", false}};
  return whole_file(
      added,
      {{"type", "Sequence"},
       {"pretokenizers", ordered_json::array({split, byte_level_step(false, false)})}},
      nullptr, std::move(model));
}

bool has_vocabulary_and_merges(const fs::path& folder) {
  using namespace foreign_files;
  return is_present(folder / kVocabulary) && is_present(folder / kMerges);
}

std::string read_tokenizer_file(const fs::path& file) {
  using namespace foreign_files;
  const fs::path folder = file.parent_path();
  const bool one_of_two = file.filename() == kVocabulary || file.filename() == kMerges;
  if (one_of_two && has_vocabulary_and_merges(folder)) {
    const fs::path config = folder / "tokenizer_config.json";
    const json flags = is_present(config) ? read_json(config) : json::object();
    return tokenizer_json_of(
        {.vocabulary = read_file(folder / kVocabulary, kLargestVocabulary),
         .merges = read_file(folder / kMerges, kLargestVocabulary),
         .location = (folder / kVocabulary).string(),
         .added = added_beside(folder, flags),
         .prefix_space = json_flag(flags, "add_prefix_space", false, config.string())});
  }
  std::string contents = read_file(file, kLargestVocabulary);
  if (!is_tiktoken_file(contents)) return contents;
  return tokenizer_json_of_tiktoken(contents, read_pattern(file), file.string());
}

}  // namespace roformer
