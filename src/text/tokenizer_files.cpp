// Opening, saving and loading tokenizers of every kind.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "config/words.h"
#include "text/byte_level_file.h"
#include "text/byte_level_tokenizer.h"
#include "text/chat_template.h"
#include "text/foreign_files.h"
#include "text/hugging_face_json.h"
#include "text/marian_tokenizer.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/subword_tokenizer.h"
#include "text/tokenizer.h"
#include "text/translation_tokenizers.h"
#include "text/vocabulary_tokenizer.h"
#include "text/word_tokenizer.h"
#include "text/wordpiece_json.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescriptionFile = "tokenizer.json";
// The same file in a folder where "tokenizer.json" is Hugging Face's.
constexpr const char* kSharedDescriptionFile = "roformer.json";
constexpr const char* kHuggingFaceFile = "tokenizer.json";
constexpr const char* kHuggingFaceConfig = "tokenizer_config.json";
constexpr const char* kFormat = "roformer tokenizer";

struct TokenizerSource {
  TokenizerKind kind = TokenizerKind::automatic;
  std::string contents;
  bool cased = false;
  std::string location;  // named in errors
};

template <std::unique_ptr<Tokenizer> (*make)(std::string, const std::string&)>
std::unique_ptr<Tokenizer> made_from(TokenizerSource source) {
  return make(std::move(source.contents), source.location);
}

std::unique_ptr<Tokenizer> wordpiece_from(TokenizerSource source) {
  return make_wordpiece_tokenizer({.contents = std::move(source.contents),
                                   .cased = source.cased,
                                   .location = std::move(source.location)});
}

std::unique_ptr<Tokenizer> bytes_from(TokenizerSource) {
  return make_byte_tokenizer();
}

struct FileKind {
  TokenizerKind kind;
  const char* file;  // its name in a saved folder; empty for bytes, which have none
  bool (*recognise)(std::string_view contents);
  std::unique_ptr<Tokenizer> (*make)(TokenizerSource source);
};
// In the order in which a file's contents are recognised. The first name of a kind is its usual
// one.
constexpr FileKind kFileKinds[] = {
    {TokenizerKind::words, "words.json", is_word_model, made_from<make_word_tokenizer>},
    {TokenizerKind::wordpiece, "vocab.txt", is_wordpiece_vocabulary, wordpiece_from},
    {TokenizerKind::wordpiece, "wordpiece.json", is_wordpiece_model, wordpiece_from},
    {TokenizerKind::characters, "characters.json", is_character_vocabulary,
     made_from<make_character_tokenizer>},
    {TokenizerKind::marian, "marian.model", is_marian_model, made_from<make_marian_tokenizer>},
    {TokenizerKind::subwords, "subwords.json", is_subword_model, made_from<make_subword_tokenizer>},
    {TokenizerKind::ids, "ids.txt", is_id_model, made_from<make_id_tokenizer>},
    {TokenizerKind::byte_level, "byte_level.json", is_byte_level_file,
     made_from<make_byte_level_tokenizer>},
    {TokenizerKind::sentencepiece, "sentencepiece.model", is_sentencepiece_model,
     made_from<make_sentencepiece_tokenizer>},
    {TokenizerKind::bytes, "", [](std::string_view) { return false; }, bytes_from},
};

const FileKind& file_kind(TokenizerKind kind) {
  const auto* const found = std::ranges::find(kFileKinds, kind, &FileKind::kind);
  ROFORMER_ASSERT(found != std::end(kFileKinds));
  return *found;
}

const FileKind& recognised_kind(const TokenizerSource& source) {
  for (const FileKind& kind : kFileKinds) {
    if (kind.recognise(source.contents)) return kind;
  }
  throw_failure(
      source.location, source.contents.empty() ? "is empty, not a tokenizer" : "is no tokenizer",
      "known are SentencePiece models, WordPiece's vocab.txt, tokenizer.json with a BPE or unigram "
      "model, vocab.json with merges.txt, tiktoken's ranks, and character lists");
}

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerSource source) {
  const FileKind& kind =
      source.kind == TokenizerKind::automatic ? recognised_kind(source) : file_kind(source.kind);
  return kind.make(std::move(source));
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
ChatFormat read_chat(const JsonFields& chat) {
  const auto name = [&](const char* key) { return chat.has(key) ? chat.text(key) : ""; };
  return {.begin = name("bos_token"), .end = name("eos_token")};
}

Description read_description(const fs::path& path) {
  const nlohmann::json json = parse_vocabulary_json(read_file(path), kFormat, path.string());
  const JsonFields fields(json, path.string());
  Description description = {.kind = TokenizerKind::automatic,
                             .description = fields.text("description"),
                             .file = fields.text("file"),
                             .vocabulary_size = fields.count("vocabulary_size"),
                             .fingerprint = fields.text("fingerprint")};
  if (fields.has("chat")) description.chat = read_chat(fields.object("chat"));
  const std::string kind = fields.text("kind");
  for (const FileKind& known : kFileKinds) {
    if (to_word(known.kind) == kind) description.kind = known.kind;
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

fs::path description_file(const fs::path& folder) {
  const fs::path shared = folder / kSharedDescriptionFile;
  return is_present(shared) ? shared : folder / kDescriptionFile;
}

// The file of the folder that can be opened as a tokenizer. Empty if there is none.
std::string tokenizer_file(const fs::path& folder) {
  const fs::path whole = folder / "tokenizer.json";
  if (is_present(folder / "vocab.txt")) return (folder / "vocab.txt").string();
  if (is_present(folder / "tokenizer.model")) return (folder / "tokenizer.model").string();
  if (is_present(whole)) {
    const std::string text = read_file(whole, kLargestVocabulary);
    if (is_byte_level_file(text) || is_wordpiece_json(text)) return whole.string();
  }
  return has_vocabulary_and_merges(folder) ? (folder / "vocab.json").string() : "";
}

// Refuses a folder of Hugging Face's, with a config.json or a tokenizer_config.json, and says what
// to name in its place.
void refuse_model_folder(const fs::path& folder) {
  if (is_present(folder / kSharedDescriptionFile)) return;
  if (!is_present(folder / "config.json") && !is_present(folder / "tokenizer_config.json")) return;
  const std::string file = tokenizer_file(folder);
  throw_usage(
      folder.string(), "is a folder of Hugging Face's, not one of `tokenizer train`",
      fmt::format("{}roformer import {} --run NAME, whose checkpoint holds its tokenizer as "
                  "the model has it: runs/NAME/checkpoints/step-00000000",
                  file.empty() ? "" : file + "; or ", folder.string()));
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
  TokenizerSource source = {.kind = settings.kind,
                            .contents = read_tokenizer_file(settings.file),
                            .cased = settings.cased,
                            .location = settings.file.string()};
  if (is_wordpiece_json(source.contents)) {
    const WordPieceModel model = wordpiece_of_tokenizer_json(source.contents, source.location);
    source.contents = wordpiece_contents(model);
    source.cased = !model.rules.lower_case;
  }
  return make_tokenizer(std::move(source));
}

std::string Tokenizer::file_name_of(TokenizerKind kind) {
  return file_kind(kind).file;
}

std::vector<std::string> saved_tokenizer_names() {
  std::vector<std::string> names{kDescriptionFile, kChatTemplateFile};
  for (const FileKind& kind : kFileKinds) {
    if (*kind.file != '\0') names.emplace_back(kind.file);
  }
  return names;
}

namespace {

// `file`: the name of the model file.
void write_description(const Tokenizer& tokenizer, const std::string& file, const InnerPath& place,
                       const char* name) {
  nlohmann::ordered_json description = {
      {"format", kFormat},
      {"version", 1},
      {"kind", to_word(tokenizer.kind())},
      {"description", tokenizer.description()},
      {"file", file},
      {"vocabulary_size", tokenizer.vocabulary_size()},
      {"fingerprint", hexadecimal(tokenizer.fingerprint())},
  };
  if (const ChatFormat& chat = tokenizer.chat(); !chat.source.empty()) {
    write_file_atomically(place / kChatTemplateFile, chat.source);
    description["chat"] = {{"bos_token", chat.begin}, {"eos_token", chat.end}};
  }
  write_file_atomically(place / name, description.dump(2) + "\n");
}

}  // namespace

void save_tokenizer(const Tokenizer& tokenizer, const InnerPath& place) {
  place.make_folder();
  if (!tokenizer.file_name().empty()) {
    write_file_atomically(place / tokenizer.file_name(), tokenizer.file_contents());
  }
  write_description(tokenizer, tokenizer.file_name(), place, kDescriptionFile);
}

void save_shared_tokenizer(const Tokenizer& tokenizer, const InnerPath& place) {
  const HuggingFaceJson whole = hugging_face_json(tokenizer, encoder_frame(tokenizer));
  for (const std::string& note : whole.notes) log::warn("{}", note);
  if (whole.contents.empty()) return save_tokenizer(tokenizer, place);
  place.make_folder();
  write_file_atomically(place / kHuggingFaceFile, whole.contents);
  write_file_atomically(place / kHuggingFaceConfig, hugging_face_config(tokenizer));
  // The model file may be that very file.
  const bool same = whole.contents == tokenizer.file_contents();
  const std::string file = same ? kHuggingFaceFile : tokenizer.file_name();
  if (!same && !file.empty()) write_file_atomically(place / file, tokenizer.file_contents());
  write_description(tokenizer, file, place, kSharedDescriptionFile);
}

bool holds_only_tokenizer(const fs::path& folder) {
  try {
    const fs::path described = description_file(folder);
    const bool shared = described.filename() == kSharedDescriptionFile;
    const Description description = read_description(described);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const fs::path name = entry.path().filename();
      const bool chat = description.chat && name == kChatTemplateFile;
      const bool theirs = shared && (name == kHuggingFaceFile || name == kHuggingFaceConfig);
      if (name != described.filename() && name != description.file && !chat && !theirs) {
        return false;
      }
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Compares the fingerprint before it parses the model.
std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& folder) {
  const fs::path path = description_file(folder);
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
                  "the folder was changed or damaged; copy it again or train it again");
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
      (tokenizer->file_name() != description.file && description.file != kHuggingFaceFile) ||
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

namespace {

constexpr const char* kSource = "source";
constexpr const char* kTarget = "target";

}  // namespace

void save_translation_tokenizers(const TranslationTokenizersView& tokenizers,
                                 const InnerPath& folder) {
  if (&tokenizers.source == &tokenizers.target) return save_tokenizer(tokenizers.target, folder);
  save_tokenizer(tokenizers.source, folder / kSource);
  save_tokenizer(tokenizers.target, folder / kTarget);
}

TranslationTokenizers load_translation_tokenizers(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kSource, error)) {
    TranslationTokenizers two{.source = load_tokenizer(folder / kSource),
                              .target = load_tokenizer(folder / kTarget)};
    two.joint = same_vocabulary(*two.source, *two.target);
    return two;
  }
  const std::shared_ptr<const Tokenizer> joint = load_tokenizer(folder);
  return {.source = joint, .target = joint, .joint = true};
}

bool is_tokenizer_entry(const fs::path& folder, const fs::path& name) {
  const std::vector<std::string> names = saved_tokenizer_names();
  if (std::ranges::find(names, name.string()) != names.end()) return true;
  if (name != kSource && name != kTarget) return false;
  return std::ranges::any_of(names, [&](const std::string& file) {
    std::error_code error;
    return fs::exists(folder / name / file, error);
  });
}

}  // namespace roformer
