// Opening, saving and loading tokenizers of every kind.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "text/byte_tokenizer.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescriptionFile = "tokenizer.json";
constexpr const char* kFormat = "roformer tokenizer";
constexpr int kVersion = 1;
constexpr std::array<std::pair<TokenizerKind, std::string_view>, 4> kKindNames = {{
    {TokenizerKind::sentencepiece, "sentencepiece"},
    {TokenizerKind::wordpiece, "wordpiece"},
    {TokenizerKind::characters, "characters"},
    {TokenizerKind::bytes, "bytes"},
}};

std::string_view kind_name(TokenizerKind kind) {
  for (const auto& [value, name] : kKindNames) {
    if (value == kind) return name;
  }
  return "automatic";
}

TokenizerKind kind_of(std::string_view contents, const std::string& place) {
  if (is_wordpiece_vocabulary(contents)) return TokenizerKind::wordpiece;
  if (is_sentencepiece_model(contents)) return TokenizerKind::sentencepiece;
  throw_failure(place, "is neither a SentencePiece model nor a WordPiece vocabulary");
}

struct TokenizerSource {
  TokenizerKind kind = TokenizerKind::automatic;
  std::string contents;
  bool cased = false;
  std::string place;  // named in errors
};

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerSource source) {
  switch (source.kind) {
    case TokenizerKind::sentencepiece:
      return make_sentencepiece_tokenizer(std::move(source.contents), source.place);
    case TokenizerKind::wordpiece:
      return make_wordpiece_tokenizer({.contents = std::move(source.contents),
                                       .cased = source.cased,
                                       .place = std::move(source.place)});
    case TokenizerKind::bytes:
      return make_byte_tokenizer();
    case TokenizerKind::characters:
    case TokenizerKind::automatic:
      break;
  }
  throw_failure(source.place, "is no tokenizer of a known kind");
}

std::string hexadecimal(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerSettings& settings) {
  if (settings.kind == TokenizerKind::bytes) return make_byte_tokenizer();
  if (settings.file.empty()) {
    throw_usage(
        "tokenizer.file", "is not given",
        "name a SentencePiece model, a WordPiece vocab.txt or a folder of `tokenizer train`");
  }
  std::error_code error;
  if (fs::is_directory(settings.file, error)) return load_tokenizer(settings.file);
  const std::string place = settings.file.string();
  std::string contents = read_file(settings.file);
  const TokenizerKind kind =
      settings.kind == TokenizerKind::automatic ? kind_of(contents, place) : settings.kind;
  return make_tokenizer(
      {.kind = kind, .contents = std::move(contents), .cased = settings.cased, .place = place});
}

void save_tokenizer(const Tokenizer& tokenizer, const fs::path& folder) {
  make_directories(folder);
  if (!tokenizer.file_name().empty()) {
    write_file_atomically(folder / tokenizer.file_name(), tokenizer.file_contents());
  }
  const nlohmann::ordered_json description = {
      {"format", kFormat},
      {"version", kVersion},
      {"kind", kind_name(tokenizer.kind())},
      {"description", tokenizer.description()},
      {"file", tokenizer.file_name()},
      {"vocabulary_size", tokenizer.vocabulary_size()},
      {"fingerprint", hexadecimal(tokenizer.fingerprint())},
  };
  write_file_atomically(folder / kDescriptionFile, description.dump(2) + "\n");
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& folder) {
  const fs::path path = folder / kDescriptionFile;
  const nlohmann::json description = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!description.is_object() || description.value("format", nlohmann::json()) != kFormat) {
    throw_failure(path.string(), "is not a tokenizer description of this program");
  }
  if (description.value("version", nlohmann::json()) != kVersion) {
    throw_failure(path.string(),
                  fmt::format("has version {}, this program reads version {}",
                              description.value("version", nlohmann::json()).dump(), kVersion));
  }
  const auto text_field = [&](const char* key) {
    const auto field = description.find(key);
    if (field == description.end() || !field->is_string()) {
      throw_failure(path.string(), fmt::format("lacks the text field \"{}\"", key));
    }
    return field->get<std::string>();
  };
  const std::string wanted_kind = text_field("kind");
  TokenizerKind kind = TokenizerKind::automatic;
  for (const auto& [value, name] : kKindNames) {
    if (name == wanted_kind) kind = value;
  }
  if (kind == TokenizerKind::automatic) {
    throw_failure(path.string(), fmt::format("has the unknown kind \"{}\"", wanted_kind));
  }
  const std::string about = text_field("description");
  const std::string file = text_field("file");
  if (fs::path(file).has_parent_path()) {
    throw_failure(path.string(), fmt::format("names the file \"{}\" outside its folder", file));
  }
  std::string contents = file.empty() ? std::string() : read_file(folder / file);
  std::unique_ptr<Tokenizer> tokenizer = make_tokenizer({.kind = kind,
                                                         .contents = std::move(contents),
                                                         .cased = about == "wordpiece cased",
                                                         .place = (folder / file).string()});
  if (tokenizer->description() != about || tokenizer->file_name() != file ||
      description.value("vocabulary_size", nlohmann::json()) != tokenizer->vocabulary_size() ||
      text_field("fingerprint") != hexadecimal(tokenizer->fingerprint())) {
    throw_failure(path.string(), "does not belong to the model file beside it",
                  "the folder was changed or damaged; copy it anew or train it again");
  }
  return tokenizer;
}

}  // namespace roformer
