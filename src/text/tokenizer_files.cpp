// Opening, saving and loading tokenizers of every kind.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "config/words.h"
#include "text/byte_level_file.h"
#include "text/byte_level_tokenizer.h"
#include "text/byte_tokenizer.h"
#include "text/character_tokenizer.h"
#include "text/chat_template.h"
#include "text/id_tokenizer.h"
#include "text/marian_tokenizer.h"
#include "text/model_folder.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/subword_tokenizer.h"
#include "text/tokenizer.h"
#include "text/word_tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescriptionFile = "tokenizer.json";
constexpr const char* kFormat = "roformer tokenizer";
constexpr int kVersion = 1;

struct ModelFile {
  TokenizerKind kind;
  const char* name;
};
constexpr std::array kModelFiles = {
    ModelFile{TokenizerKind::sentencepiece, "sentencepiece.model"},
    ModelFile{TokenizerKind::wordpiece, "vocab.txt"},
    ModelFile{TokenizerKind::wordpiece, "wordpiece.json"},
    ModelFile{TokenizerKind::characters, "characters.json"},
    ModelFile{TokenizerKind::subwords, "subwords.json"},
    ModelFile{TokenizerKind::marian, "marian.model"},
    ModelFile{TokenizerKind::words, "words.json"},
    ModelFile{TokenizerKind::ids, "ids.txt"},
    ModelFile{TokenizerKind::byte_level, "byte_level.json"},
};

TokenizerKind kind_of(std::string_view contents, const std::string& location) {
  if (is_word_model(contents)) return TokenizerKind::words;
  if (is_wordpiece_vocabulary(contents)) return TokenizerKind::wordpiece;
  if (is_wordpiece_model(contents)) return TokenizerKind::wordpiece;
  if (is_character_vocabulary(contents)) return TokenizerKind::characters;
  if (is_marian_model(contents)) return TokenizerKind::marian;
  if (is_subword_model(contents)) return TokenizerKind::subwords;
  if (is_id_model(contents)) return TokenizerKind::ids;
  if (is_byte_level_file(contents)) return TokenizerKind::byte_level;
  if (is_sentencepiece_model(contents)) return TokenizerKind::sentencepiece;
  throw_failure(
      location, contents.empty() ? "is empty, not a tokenizer" : "is no tokenizer",
      "known are SentencePiece models, WordPiece's vocab.txt, tokenizer.json with a byte-level "
      "BPE, and character lists");
}

struct TokenizerSource {
  TokenizerKind kind = TokenizerKind::automatic;
  std::string contents;
  bool cased = false;
  std::string location;  // named in errors
};

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerSource source) {
  switch (source.kind) {
    case TokenizerKind::sentencepiece:
      return make_sentencepiece_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::wordpiece:
      return make_wordpiece_tokenizer({.contents = std::move(source.contents),
                                       .cased = source.cased,
                                       .location = std::move(source.location)});
    case TokenizerKind::characters:
      return make_character_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::bytes:
      return make_byte_tokenizer();
    case TokenizerKind::subwords:
      return make_subword_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::marian:
      return make_marian_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::words:
      return make_word_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::ids:
      return make_id_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::byte_level:
      return make_byte_level_tokenizer(std::move(source.contents), source.location);
    case TokenizerKind::automatic:
      break;
  }
  source.kind = kind_of(source.contents, source.location);
  return make_tokenizer(std::move(source));
}

// The fields of tokenizer.json.
struct Description {
  TokenizerKind kind = TokenizerKind::automatic;
  std::string description;
  std::string file;  // beside it; empty for bytes
  std::int64_t vocabulary_size = 0;
  std::string fingerprint;
  std::optional<ChatFormat> chat;  // without its source, which is a file beside it
};

// {"bos_token": "<s>", "eos_token": "</s>"}; both may be missing.
ChatFormat read_chat(const nlohmann::json& json, const fs::path& path) {
  const auto name = [&](const char* key) {
    const nlohmann::json value =
        json.is_object() ? json.value(key, nlohmann::json("")) : nlohmann::json();
    if (!value.is_string()) {
      throw_failure(path.string(), fmt::format("\"chat\" has no text \"{}\"", key));
    }
    return value.get<std::string>();
  };
  return {.begin = name("bos_token"), .end = name("eos_token")};
}

Description read_description(const fs::path& path) {
  const nlohmann::json json = read_json(path);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormat) {
    throw_failure(path.string(), "is not a tokenizer description of this program");
  }
  const auto field = [&](const char* key) -> const nlohmann::json& {
    const auto found = json.find(key);
    if (found == json.end()) throw_failure(path.string(), fmt::format("lacks \"{}\"", key));
    return *found;
  };
  const auto text_field = [&](const char* key) {
    if (!field(key).is_string()) {
      throw_failure(path.string(), fmt::format("\"{}\" is not a text", key));
    }
    return field(key).get<std::string>();
  };
  if (field("version") != kVersion) {
    throw_failure(path.string(), fmt::format("has version {}, this program reads version {}",
                                             describe_json(field("version")), kVersion));
  }
  if (!field("vocabulary_size").is_number_integer()) {
    throw_failure(path.string(), "\"vocabulary_size\" is not a whole number");
  }
  Description description = {.kind = TokenizerKind::automatic,
                             .description = text_field("description"),
                             .file = text_field("file"),
                             .vocabulary_size = field("vocabulary_size").get<std::int64_t>(),
                             .fingerprint = text_field("fingerprint")};
  if (const auto chat = json.find("chat"); chat != json.end()) {
    description.chat = read_chat(*chat, path);
  }
  const std::string kind = text_field("kind");
  for (const TokenizerKind value :
       {TokenizerKind::sentencepiece, TokenizerKind::wordpiece, TokenizerKind::characters,
        TokenizerKind::bytes, TokenizerKind::subwords, TokenizerKind::marian, TokenizerKind::words,
        TokenizerKind::ids, TokenizerKind::byte_level}) {
    if (to_word(value) == kind) description.kind = value;
  }
  if (description.kind == TokenizerKind::automatic) {
    throw_failure(path.string(), fmt::format("has the unknown kind \"{}\"", kind));
  }
  if (fs::path(description.file).filename() != description.file) {
    throw_failure(path.string(),
                  fmt::format("names the file \"{}\" outside its folder", description.file));
  }
  return description;
}

// A vocabulary with a dictionary beside it.
std::unique_ptr<Tokenizer> open_words(const TokenizerSettings& settings) {
  const bool words =
      settings.kind == TokenizerKind::automatic || settings.kind == TokenizerKind::words;
  if (!words || settings.file.empty()) {
    throw_usage("tokenizer.dictionary",
                words ? "is given without a vocabulary"
                      : fmt::format("is not for the kind {}", to_word(settings.kind)),
                "tokenizer.file: the vocab.txt of a model of Chinese words");
  }
  return make_word_tokenizer(
      word_model({.vocabulary = read_file(settings.file, kLargestVocabulary),
                  .vocabulary_location = settings.file.string(),
                  .dictionary = read_file(settings.dictionary, kLargestVocabulary),
                  .dictionary_location = settings.dictionary.string(),
                  .cased = settings.cased,
                  .characters = settings.characters}),
      settings.file.string());
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerSettings& settings) {
  if (!settings.dictionary.empty()) return open_words(settings);
  if (settings.characters) {
    throw_usage("tokenizer.characters", "is for a dictionary, and none is given",
                "tokenizer.dictionary FILE, jieba's dict.txt for instance");
  }
  if (settings.kind == TokenizerKind::bytes) return make_byte_tokenizer();
  if (settings.file.empty()) {
    throw_usage(
        "tokenizer.file", "is not given",
        "name a SentencePiece model, a WordPiece vocab.txt or a folder of `tokenizer train`");
  }
  std::error_code error;
  if (fs::is_directory(settings.file, error)) {
    refuse_model_folder(settings.file);
    std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(settings.file);
    if (settings.kind != TokenizerKind::automatic && settings.kind != tokenizer->kind()) {
      throw_usage("tokenizer.kind",
                  fmt::format("{} is wanted, {} holds {}", to_word(settings.kind),
                              settings.file.string(), to_word(tokenizer->kind())));
    }
    return tokenizer;
  }
  return make_tokenizer({.kind = settings.kind,
                         .contents = read_file(settings.file, kLargestVocabulary),
                         .cased = settings.cased,
                         .location = settings.file.string()});
}

std::string Tokenizer::file_name_of(TokenizerKind kind) {
  if (kind == TokenizerKind::bytes) return "";
  const auto found = std::ranges::find(kModelFiles, kind, &ModelFile::kind);
  ROFORMER_ASSERT(found != kModelFiles.end());
  return found->name;
}

std::vector<std::string> saved_tokenizer_names() {
  std::vector<std::string> names{kDescriptionFile, kChatTemplateFile};
  for (const ModelFile& file : kModelFiles) names.emplace_back(file.name);
  return names;
}

void save_tokenizer(const Tokenizer& tokenizer, const InnerPath& place) {
  place.make_folder();
  if (!tokenizer.file_name().empty()) {
    write_file_atomically(place / tokenizer.file_name(), tokenizer.file_contents());
  }
  nlohmann::ordered_json description = {
      {"format", kFormat},
      {"version", kVersion},
      {"kind", to_word(tokenizer.kind())},
      {"description", tokenizer.description()},
      {"file", tokenizer.file_name()},
      {"vocabulary_size", tokenizer.vocabulary_size()},
      {"fingerprint", hexadecimal(tokenizer.fingerprint())},
  };
  if (const ChatFormat& chat = tokenizer.chat(); !chat.source.empty()) {
    write_file_atomically(place / kChatTemplateFile, chat.source);
    description["chat"] = {{"bos_token", chat.begin}, {"eos_token", chat.end}};
  }
  write_file_atomically(place / kDescriptionFile, description.dump(2) + "\n");
}

bool holds_only_tokenizer(const fs::path& folder) {
  try {
    const Description description = read_description(folder / kDescriptionFile);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const fs::path name = entry.path().filename();
      const bool chat = description.chat && name == kChatTemplateFile;
      if (name != kDescriptionFile && name != description.file && !chat) return false;
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// The fingerprint is compared before the model is looked into.
std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& folder) {
  const fs::path path = folder / kDescriptionFile;
  std::error_code error;
  if (fs::is_directory(folder, error) && !fs::exists(path, error)) {
    throw_failure(folder.string(), std::string("holds no tokenizer (") + kDescriptionFile + ")",
                  "roformer tokenizer train makes one");
  }
  const Description description = read_description(path);
  std::string contents = description.file.empty()
                             ? std::string()
                             : read_file(folder / description.file, kLargestVocabulary);
  const auto mismatch = [&] {
    throw_failure(path.string(), "does not belong to the model file beside it",
                  "the folder was changed or damaged; copy it anew or train it again");
  };
  if (description.fingerprint !=
      hexadecimal(Tokenizer::fingerprint(description.description, contents))) {
    mismatch();
  }
  std::unique_ptr<Tokenizer> tokenizer =
      make_tokenizer({.kind = description.kind,
                      .contents = std::move(contents),
                      .cased = description.description == "wordpiece cased",
                      .location = (folder / description.file).string()});
  if (tokenizer->description() != description.description ||
      tokenizer->file_name() != description.file ||
      tokenizer->vocabulary_size() != description.vocabulary_size) {
    mismatch();
  }
  if (description.chat) {
    ChatFormat chat = *description.chat;
    chat.source = read_template_file(folder, TemplateLink::refused);
    tokenizer->set_chat(std::move(chat));
  }
  return tokenizer;
}

}  // namespace roformer
