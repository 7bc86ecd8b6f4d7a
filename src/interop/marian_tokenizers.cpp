#include "interop/marian_tokenizers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "interop/folder.h"
#include "text/marian_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kSourceModel = "source.spm";
constexpr const char* kTargetModel = "target.spm";
constexpr const char* kMarianVocabulary = "vocab.json";
constexpr const char* kTargetVocabulary = "target_vocab.json";
constexpr const char* kMarianTokenizerFile = "tokenizer_config.json";

json read_json_object(const fs::path& path) {
  json document = read_json(path);
  if (!document.is_object()) throw_failure(path.string(), "is not a JSON object");
  return document;
}

// The pieces in the order of their ids, which must be 0, 1, 2, ...
std::vector<std::string> read_pieces(const fs::path& path) {
  const json document = read_json_object(path);
  std::vector<std::string> pieces(document.size());
  std::vector<bool> seen(document.size(), false);
  for (const auto& [piece, id] : document.items()) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < pieces.size();
    if (!fits || seen[id.get<std::size_t>()]) {
      throw_failure(path.string(), "numbers its pieces otherwise than 0, 1, 2, ...");
    }
    seen[id.get<std::size_t>()] = true;
    pieces[id.get<std::size_t>()] = piece;
  }
  return pieces;
}

// "<unk>", or {"content": "<unk>"}.
std::string token_name(const json& config, const char* name, const std::string& standard) {
  const auto found = config.find(name);
  if (found == config.end()) return standard;
  const json& value =
      found->is_object() && found->contains("content") ? (*found)["content"] : *found;
  return value.is_string() ? value.get<std::string>() : standard;
}

struct SideReader {
  const fs::path& folder;
  const MarianTokens& tokens;
  std::string unknown;

  std::shared_ptr<const Tokenizer> read(const char* model, const char* vocabulary) const {
    const fs::path file = folder / vocabulary;
    MarianVocabulary words{.pieces = read_pieces(file)};
    const auto size = std::ssize(words.pieces);
    const auto id_of = [&](std::int64_t id, const char* what) {
      if (id < size) return static_cast<TokenId>(id);
      throw_failure(file.string(),
                    fmt::format("has {} pieces, {} of config.json is {}", size, what, id));
    };
    words.special.padding = id_of(tokens.padding, "pad_token_id");
    words.special.separator = id_of(tokens.end, "eos_token_id");
    if (tokens.begin != tokens.padding) {
      words.special.classification = id_of(tokens.begin, "decoder_start_token_id");
    }
    const auto found = std::ranges::find(words.pieces, unknown);
    if (found == words.pieces.end()) {
      throw_failure(file.string(), fmt::format("lacks the unknown token \"{}\"", unknown));
    }
    words.special.unknown = static_cast<TokenId>(found - words.pieces.begin());
    return make_marian_tokenizer(marian_model(words, read_file(folder / model, kLargestVocabulary)),
                                 (folder / model).string());
  }
};

json vocabulary_json(const Tokenizer& tokenizer) {
  json object = json::object();
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) object[tokenizer.piece(id)] = id;
  return object;
}

bool has_sentencepiece(const Tokenizer& tokenizer) {
  return tokenizer.kind() == TokenizerKind::sentencepiece ||
         tokenizer.kind() == TokenizerKind::marian;
}

std::string_view sentencepiece_model(const Tokenizer& tokenizer) {
  return tokenizer.kind() == TokenizerKind::marian ? sentencepiece_of(tokenizer)
                                                   : std::string_view(tokenizer.file_contents());
}

}  // namespace

MarianTokenizers read_marian_tokenizers(const fs::path& folder, const MarianTokens& tokens) {
  const json config = is_there(folder / kMarianTokenizerFile)
                          ? read_json_object(folder / kMarianTokenizerFile)
                          : json(json::object());
  const auto separate = config.find("separate_vocabs");
  const bool two = separate != config.end() && separate->is_boolean() && separate->get<bool>();
  const SideReader reader{
      .folder = folder, .tokens = tokens, .unknown = token_name(config, "unk_token", "<unk>")};
  return {.source = reader.read(kSourceModel, kMarianVocabulary),
          .target = reader.read(kTargetModel, two ? kTargetVocabulary : kMarianVocabulary)};
}

void write_marian_tokenizers(const MarianTokenizersView& tokenizers, std::int64_t longest,
                             const fs::path& folder, std::vector<std::string>& notes) {
  const auto& [source, target, separate] = tokenizers;
  if (!has_sentencepiece(source) || !has_sentencepiece(target)) {
    for (const auto& [tokenizer, side] :
         {std::pair(&source, "source"), std::pair(&target, "target")}) {
      if (tokenizer->file_name().empty()) continue;
      write_file_atomically(folder / fmt::format("{}-{}", side, tokenizer->file_name()),
                            tokenizer->file_contents());
    }
    notes.push_back(fmt::format(
        "transformers' MarianTokenizer knows only SentencePiece: {} is written as it is, and the "
        "text must be encoded with it",
        source.description()));
    return;
  }
  write_file_atomically(folder / kSourceModel, sentencepiece_model(source));
  write_file_atomically(folder / kTargetModel, sentencepiece_model(target));
  write_file_atomically(folder / kMarianVocabulary, vocabulary_json(source).dump(2) + "\n");
  if (separate) {
    write_file_atomically(folder / kTargetVocabulary, vocabulary_json(target).dump(2) + "\n");
  }
  const SpecialTokens& special = target.special();
  const auto name = [&](TokenId id) { return id < 0 ? json() : json(target.piece(id)); };
  const nlohmann::ordered_json config = {
      {"tokenizer_class", "MarianTokenizer"},
      {"unk_token", name(special.unknown)},
      {"eos_token", name(special.separator)},
      {"pad_token", name(special.padding >= 0 ? special.padding : special.separator)},
      {"separate_vocabs", separate},
      {"model_max_length", longest}};
  write_file_atomically(folder / kMarianTokenizerFile, config.dump(2) + "\n");
}

}  // namespace roformer
