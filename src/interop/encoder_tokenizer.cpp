#include "interop/encoder_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/as_number.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/parts.h"
#include "base/printable.h"
#include "interop/folder.h"
#include "interop/tokenizer_json.h"
#include "text/added_tokens.h"
#include "text/byte_level_file.h"
#include "text/foreign_files.h"
#include "text/hugging_face_json.h"
#include "text/word_tokenizer.h"
#include "text/wordpiece_json.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kWordPieces = "vocab.txt";
constexpr const char* kDictionary = "dict.txt";
// XLM-R's and CamemBERT's: the ids of a model are other than those of this SentencePiece model.
constexpr const char* kFairseqPieces = "sentencepiece.bpe.model";
// Files that hold a whole tokenizer. An export writes the first or the last.
constexpr const char* kModelFiles[] = {"sentencepiece.model", "spiece.model", "tokenizer.model",
                                       "characters.json"};

std::optional<bool> flag(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

// A vocabulary made from lower-cased text has no capital letter outside its special tokens.
bool looks_cased(std::string_view vocabulary) {
  for (const std::string_view piece : split_at(vocabulary, '\n')) {
    if (piece.starts_with('[')) continue;
    for (const char c : piece) {
      if (c >= 'A' && c <= 'Z') return true;
    }
  }
  return false;
}

// The normalizer's options. tokenizer_config.json takes precedence over tokenizer.json, as in
// transformers.
struct Normalization {
  std::optional<bool> lower;
  std::optional<bool> strip_accents;
  std::optional<bool> chinese;
};

Normalization read_normalization(const fs::path& folder) {
  const json config = read_object_if_there(folder / kTokenizerConfigFile);
  Normalization result = {.lower = flag(config, "do_lower_case"),
                          .strip_accents = flag(config, "strip_accents"),
                          .chinese = flag(config, "tokenize_chinese_chars")};
  const json tokenizer = read_object_if_there(folder / kTokenizerFile);
  const auto normalizer = tokenizer.find("normalizer");
  if (normalizer != tokenizer.end() && normalizer->is_object()) {
    if (!result.lower) result.lower = flag(*normalizer, "lowercase");
    if (!result.strip_accents) result.strip_accents = flag(*normalizer, "strip_accents");
    if (!result.chinese) result.chinese = flag(*normalizer, "handle_chinese_chars");
  }
  return result;
}

bool cuts_words(const fs::path& folder) {
  const json config = read_object_if_there(folder / kTokenizerConfigFile);
  const auto name = config.find("tokenizer_class");
  return name != config.end() && name->is_string() &&
         name->get<std::string>().starts_with("RoFormerTokenizer");
}

// Notes that this program, unlike transformers, never turns text of the data into a special token.
void note_special(const std::vector<AddedToken>& added, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const AddedToken& token : added) {
    if (token.special) names.push_back(printable(token.content));
  }
  if (names.empty()) return;
  constexpr std::size_t kShown = 6;
  const std::size_t all = names.size();
  if (all > kShown) names.resize(kShown);
  notes.push_back(fmt::format(
      "its special added tokens ({}{}) are found in prompts only: in data their names are text",
      fmt::join(names, ", "), all > kShown ? ", ..." : ""));
}

// Notes which options of the normalizer the tokenizer of Chinese words lacks.
void note_what_words_lack(const WordPieceModel& model, std::vector<std::string>& notes) {
  const bool lower = model.rules.lower_case;
  if (model.rules.strip_accents != lower) {
    notes.push_back(fmt::format("its tokenizer {} accents; here a tokenizer of words {} them",
                                lower ? "keeps" : "strips", lower ? "strips" : "keeps"));
  }
  if (!model.rules.chinese_characters) {
    notes.push_back("its tokenizer keeps runs of Chinese characters together; here each is a word");
  }
  if (!model.added.empty()) {
    notes.push_back("its added tokens are text here: a tokenizer of words has none");
  }
}

// Collects the added tokens of a folder with a WordPiece tokenizer. They come from tokenizer.json,
// from "added_tokens_decoder" and "additional_special_tokens" in tokenizer_config.json, and from
// added_tokens.json, which older releases wrote. The result is ordered by id and leaves out BERT's
// own special tokens unless they have options. `pieces`: the vocabulary's. Throws Error (failure)
// for an entry that is no token.
class AddedTokenReader {
 public:
  AddedTokenReader(const fs::path& folder, const std::vector<std::string>& pieces)
      : folder_(folder), pieces_(pieces) {}

  std::vector<AddedToken> read() {
    const json whole = document("tokenizer.json");
    for (const json& entry : list(whole, "added_tokens")) {
      add(entry, entry.is_object() ? entry.value("id", json()) : json(), "tokenizer.json");
    }
    const json config = document("tokenizer_config.json");
    const auto decoder = config.find("added_tokens_decoder");
    if (decoder != config.end() && decoder->is_object()) {
      for (const auto& [id, entry] : decoder->items()) {
        add(entry, number_of(id), "tokenizer_config.json");
      }
    } else {
      const json older = document("added_tokens.json");
      for (const auto& [content, id] : older.items()) {
        if (has(content)) continue;
        add({{"content", content}}, id, "added_tokens.json");
      }
    }
    for (const json& entry : list(config, "additional_special_tokens")) add_special(entry);
    std::vector<AddedToken> result;
    for (auto& [id, token] : found_) {
      if (!is_plain_bert_token(token)) result.push_back(std::move(token));
    }
    return result;
  }

 private:
  const fs::path& folder_;
  const std::vector<std::string>& pieces_;
  std::map<TokenId, AddedToken> found_;

  json document(const char* name) const { return read_object_if_there(folder_ / name); }
  static json list(const json& document, const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_array() ? *found : json::array();
  }
  static json number_of(const std::string& digits) {
    const std::optional<std::uint64_t> value = as_number<std::uint64_t>(digits);
    return value ? json(*value) : json(digits);
  }

  void add(const json& entry, const json& id, const char* file) {
    const std::string location = (folder_ / file).string();
    AddedToken token = parse_added_token(entry, location);
    constexpr std::uint64_t kMost = 100'000'000;
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMost) {
      throw_failure(location, fmt::format("the id of {} is {}, not a number from 0 to {}",
                                          printable(token.content), describe_json(id), kMost));
    }
    token.id = id.get<TokenId>();
    found_[token.id] = std::move(token);
  }

  // The entry is a text or an object with that content.
  void add_special(const json& entry) {
    json token = entry.is_string() ? json{{"content", entry}} : entry;
    token["special"] = true;
    if (!token.contains("content") || !token["content"].is_string()) return;
    const std::string content = token["content"].get<std::string>();
    if (has(content)) return;
    const auto piece = std::ranges::find(pieces_, content);
    // pieces_.size() if it is no piece
    auto id = static_cast<std::uint64_t>(piece - pieces_.begin());
    if (piece == pieces_.end() && !found_.empty()) {
      id = std::max(id, static_cast<std::uint64_t>(found_.rbegin()->first) + 1);
    }
    add(token, id, "tokenizer_config.json");
  }

  bool has(const std::string& content) const {
    return std::ranges::any_of(found_,
                               [&](const auto& entry) { return entry.second.content == content; });
  }
};

std::unique_ptr<Tokenizer> make_wordpiece(std::string vocabulary, const fs::path& file,
                                          std::vector<std::string>& notes) {
  if (const fs::path whole = file.parent_path() / kTokenizerFile; is_present(whole)) {
    require_bert_wordpiece(read_file(whole, kLargestVocabulary), whole.string());
  }
  const Normalization normalization = read_normalization(file.parent_path());
  bool cased = !normalization.lower.value_or(true);
  if (!normalization.lower) {
    cased = looks_cased(vocabulary);
    notes.push_back(fmt::format(
        "neither {} nor {} says whether it is cased: taken as {}, from the capitals of {}",
        kTokenizerConfigFile, kTokenizerFile, cased ? "cased" : "uncased",
        file.filename().string()));
  }
  WordPieceModel model = {.vocabulary = std::move(vocabulary),
                          .rules = {.lower_case = !cased,
                                    .strip_accents = normalization.strip_accents.value_or(!cased),
                                    .chinese_characters = normalization.chinese.value_or(true)}};
  model.added = AddedTokenReader(file.parent_path(), vocabulary_lines(model.vocabulary)).read();
  note_special(model.added, notes);
  const fs::path dictionary = file.parent_path() / kDictionary;
  if (is_present(dictionary)) {
    note_what_words_lack(model, notes);
    return make_word_tokenizer(word_model({.vocabulary = std::move(model.vocabulary),
                                           .vocabulary_location = file.string(),
                                           .dictionary = read_file(dictionary, kLargestVocabulary),
                                           .dictionary_location = dictionary.string(),
                                           .cased = cased}),
                               file.string());
  }
  if (cuts_words(file.parent_path())) {
    notes.push_back(
        "its tokenizer looks for Chinese words with jieba first; here every Chinese character is "
        "one piece, so Chinese text gives other ids. Put jieba's dict.txt into the folder "
        "to have its words");
  }
  return make_wordpiece_tokenizer(
      {.contents = wordpiece_contents(model), .cased = cased, .location = file.string()});
}

}  // namespace

std::unique_ptr<Tokenizer> read_encoder_tokenizer(const fs::path& folder,
                                                  std::vector<std::string>& notes) {
  if (is_present(folder / kWordPieces)) {
    return make_wordpiece(read_file(folder / kWordPieces, kLargestVocabulary), folder / kWordPieces,
                          notes);
  }
  const fs::path file = folder / kTokenizerFile;
  const std::string whole = is_present(file) ? read_file(file, kLargestVocabulary) : "";
  const auto open_whole = [&] {
    return open_tokenizer({.kind = TokenizerKind::byte_level, .file = file});
  };
  const bool read_here = is_byte_level_file(whole);
  if (read_here && whole.find("\"ByteLevel\"") != std::string::npos) return open_whole();
  for (const char* name : kModelFiles) {
    if (is_present(folder / name))
      return open_model_file(folder / name, read_here ? file : "", notes);
  }
  if (read_here) return open_whole();
  if (!whole.empty()) {
    return make_wordpiece(vocabulary_of_tokenizer_json(whole, file.string()), file, notes);
  }
  if (has_vocabulary_and_merges(folder)) {
    return open_tokenizer({.kind = TokenizerKind::byte_level, .file = folder / "vocab.json"});
  }
  if (is_present(folder / kFairseqPieces)) {
    throw_failure((folder / kFairseqPieces).string(),
                  "numbers its pieces otherwise than the model, whose special tokens come first",
                  "put the model's tokenizer.json beside it, which "
                  "AutoTokenizer.from_pretrained(...).save_pretrained(...) writes");
  }
  throw_failure(folder.string(),
                "has no tokenizer: no vocab.txt, tokenizer.json, vocab.json with merges.txt or "
                "*.model",
                "put the model's vocab.txt beside its config.json");
}

namespace {

// Writes the files from which older releases of transformers, and `roformer import`, read the
// tokenizer. Returns the fields of tokenizer_config.json that tell how text is cut.
nlohmann::ordered_json write_own_files(const Tokenizer& tokenizer, const fs::path& folder,
                                       std::vector<std::string>& notes) {
  const bool words = tokenizer.kind() == TokenizerKind::words;
  if (!words && tokenizer.kind() != TokenizerKind::wordpiece) {
    const std::string name = tokenizer.file_name();
    if (!name.empty() && tokenizer.kind() != TokenizerKind::byte_level) {
      write_file_atomically(folder / name, tokenizer.file_contents());
    }
    return {{"tokenizer_class", "PreTrainedTokenizerFast"},
            {"clean_up_tokenization_spaces", false}};
  }
  WordPieceModel model;
  bool cuts = false;
  if (words) {
    const WordFiles files = word_files(tokenizer);
    model = {.vocabulary = files.vocabulary,
             .rules = files.cased ? kCasedBert : kUncasedBert,
             .added = {}};
    cuts = !files.characters;
    if (cuts) {
      write_file_atomically(folder / kDictionary, files.dictionary);
      notes.push_back(
          "transformers' RoFormerTokenizer cuts words with rjieba and its own dictionary; this "
          "model's is written as dict.txt, which `roformer import` takes");
    }
  } else {
    model = wordpiece_model(tokenizer);
  }
  write_file_atomically(folder / kWordPieces, model.vocabulary);
  const bool plain = model.rules.strip_accents == model.rules.lower_case;
  nlohmann::ordered_json config = {
      {"tokenizer_class", cuts ? "RoFormerTokenizer" : "BertTokenizer"},
      {"do_lower_case", model.rules.lower_case},
      {"strip_accents",
       plain ? nlohmann::ordered_json() : nlohmann::ordered_json(model.rules.strip_accents)},
      {"tokenize_chinese_chars", model.rules.chinese_characters}};
  for (const AddedToken& token : model.added) {
    nlohmann::ordered_json entry = added_token_json(token);
    entry.erase("id");
    config["added_tokens_decoder"][std::to_string(token.id)] = std::move(entry);
  }
  return config;
}

}  // namespace

void write_encoder_tokenizer(const Tokenizer& tokenizer, const EncoderTexts& texts,
                             const fs::path& folder, std::vector<std::string>& notes) {
  nlohmann::ordered_json config = write_own_files(tokenizer, folder, notes);
  const bool written = write_tokenizer_json(tokenizer, encoder_frame(tokenizer), folder, notes);
  const bool words = tokenizer.kind() == TokenizerKind::words;
  if (!written && !words) {
    notes.push_back(fmt::format("{} is written as it is, and the text must be encoded with it",
                                tokenizer.file_name()));
    return;
  }
  config["model_max_length"] = texts.longest;
  config["model_input_names"] = {"input_ids", "attention_mask"};
  if (texts.token_types)
    config["model_input_names"] = {"input_ids", "token_type_ids", "attention_mask"};
  add_special_names(tokenizer, config);
  write_json(folder / kTokenizerConfigFile, config);
}

}  // namespace roformer
