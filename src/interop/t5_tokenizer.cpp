#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "interop/tokenizer_json.h"
#include "interop/translator.h"
#include "text/marian_tokenizer.h"
#include "text/sentencepiece_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kT5Model = "spiece.model";
constexpr std::int64_t kStandardGaps = 100;  // T5Tokenizer's extra_ids

std::vector<std::string> pieces_of(const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id)
    pieces.push_back(tokenizer.piece(id));
  return pieces;
}

std::string gap_name(std::int64_t number) {
  return fmt::format("<extra_id_{}>", number);
}

// The tokens after the model's pieces: those of added_tokens_decoder in tokenizer_config.json if it
// has them, else as many gaps as its extra_ids says.
std::vector<std::string> added_pieces(const fs::path& folder, std::int64_t first) {
  const fs::path file = folder / kTokenizerConfigFile;
  const nlohmann::json document = read_object_if_there(file);
  const JsonFields config(document, file.string());
  std::vector<std::string> added;
  const auto decoder = document.find("added_tokens_decoder");
  if (decoder == document.end() || !decoder->is_object()) {
    const std::int64_t gaps = config.count("extra_ids", kStandardGaps, between(0, 100'000));
    for (std::int64_t i = gaps; i-- > 0;) added.push_back(gap_name(i));
    return added;
  }
  std::map<std::int64_t, std::string> by_id;
  for (const auto& [id, entry] : decoder->items()) {
    const nlohmann::json number = nlohmann::json::parse(id, nullptr, /*allow_exceptions=*/false);
    const bool named =
        entry.is_object() && entry.contains("content") && entry["content"].is_string();
    if (!number.is_number_unsigned() || !named) {
      throw_failure(file.string(), "\"added_tokens_decoder\" has an entry that is no token");
    }
    if (number.get<std::int64_t>() >= first) by_id[number.get<std::int64_t>()] = entry["content"];
  }
  for (const auto& [id, content] : by_id) {
    if (id != first + std::ssize(added)) {
      throw_failure(file.string(),
                    fmt::format("adds a token with the id {}, wanted {}, the next after the pieces",
                                id, first + std::ssize(added)));
    }
    added.push_back(content);
  }
  return added;
}

// tokenizer.json, which transformers 5 writes alone.
void read_whole_tokenizer(const fs::path& file, const TranslatorTokens& tokens,
                          PretrainedModel& model) {
  model.tokenizer = open_tokenizer({.kind = TokenizerKind::byte_level, .file = file});
  model.source_tokenizer = model.tokenizer;
  const SpecialTokens& special = model.tokenizer->special();
  const std::int64_t begin = special.classification >= 0 ? special.classification : special.padding;
  for (const auto& [ours, theirs, name] : {std::tuple<std::int64_t, std::int64_t, const char*>(
                                               special.padding, tokens.padding, "pad_token_id"),
                                           {special.separator, tokens.end, "eos_token_id"},
                                           {begin, tokens.begin, "decoder_start_token_id"}}) {
    if (ours == theirs) continue;
    throw_failure(file.string(),
                  fmt::format("makes {} the token of \"{}\", config.json {}", ours, name, theirs));
  }
}

}  // namespace

void read_t5_tokenizer(const fs::path& folder, const FolderConfig& config, PretrainedModel& model) {
  const fs::path file = folder / kT5Model;
  if (!is_present(file)) {
    const fs::path whole = folder / kTokenizerFile;
    if (is_present(whole)) return read_whole_tokenizer(whole, config.tokens, model);
    throw_failure(folder.string(), "has no tokenizer: no spiece.model and no tokenizer.json",
                  "put the model's spiece.model beside its config.json");
  }
  const std::string contents = read_file(file, kLargestVocabulary);
  const auto plain = make_sentencepiece_tokenizer(contents, file.string());
  MarianVocabulary vocabulary{.pieces = pieces_of(*plain),
                              .special = {.unknown = plain->special().unknown},
                              .language_codes = false};
  for (std::string& piece : added_pieces(folder, plain->vocabulary_size())) {
    vocabulary.pieces.push_back(std::move(piece));
  }
  const TranslatorTokens& tokens = config.tokens;
  for (const auto& [id, name] :
       {std::pair(tokens.padding, "pad_token_id"), std::pair(tokens.end, "eos_token_id"),
        std::pair(tokens.begin, "decoder_start_token_id")}) {
    if (id < std::ssize(vocabulary.pieces)) continue;
    throw_failure(file.string(), fmt::format("has {} pieces, {} of config.json is {}",
                                             vocabulary.pieces.size(), name, id));
  }
  vocabulary.special.padding = static_cast<TokenId>(tokens.padding);
  vocabulary.special.separator = static_cast<TokenId>(tokens.end);
  if (tokens.begin != tokens.padding) {
    vocabulary.special.classification = static_cast<TokenId>(tokens.begin);
  }
  model.source_tokenizer = make_marian_tokenizer(marian_model(vocabulary, contents), file.string());
  model.tokenizer = model.source_tokenizer;
  if (std::ssize(vocabulary.pieces) > plain->vocabulary_size()) {
    model.notes.push_back(fmt::format(
        "{} and the other {} tokens after its tokenizer's pieces are plain text in a source here; "
        "a "
        "translation may contain them",
        vocabulary.pieces.back(), std::ssize(vocabulary.pieces) - plain->vocabulary_size() - 1));
  }
}

void write_t5_tokenizer(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                        const fs::path& folder, std::vector<std::string>& notes) {
  const Tokenizer& target = tokenizers.target;
  const SpecialTokens& special = target.special();
  const auto name = [&](TokenId id) {
    return id < 0 ? nlohmann::json() : nlohmann::json(target.piece(id));
  };
  nlohmann::ordered_json config = {
      {"tokenizer_class", "T5Tokenizer"},
      {"unk_token", name(special.unknown)},
      {"eos_token", name(special.separator)},
      {"pad_token", name(special.padding >= 0 ? special.padding : special.separator)},
      {"model_max_length", longest}};
  const bool one = tokenizers.source.fingerprint() == target.fingerprint();
  if (one && !has_sentencepiece(target) &&
      write_tokenizer_json(target, {.after = special.separator}, folder, notes)) {
    config["tokenizer_class"] = "PreTrainedTokenizerFast";
    write_json(folder / kTokenizerConfigFile, config);
    return;
  }
  if (write_without_sentencepiece(tokenizers, "T5Tokenizer", folder, notes)) return;
  const std::string contents(sentencepiece_model(target));
  write_file_atomically(folder / kT5Model, contents);
  const auto plain = make_sentencepiece_tokenizer(contents, kT5Model);
  std::vector<std::string> pieces = pieces_of(*plain);
  const std::int64_t gaps = target.vocabulary_size() - std::ssize(pieces);
  for (std::int64_t i = gaps; i-- > 0;) pieces.push_back(gap_name(i));
  if (pieces != pieces_of(target) || sentencepiece_model(tokenizers.source) != contents) {
    notes.push_back(
        "transformers' T5Tokenizer has one SentencePiece model that numbers the pieces itself, and "
        "this translator's tokenizers have another order or two models: the text must be encoded "
        "with this program");
  }
  config["extra_ids"] = std::max<std::int64_t>(gaps, 0);
  write_json(folder / kTokenizerConfigFile, config);
}

}  // namespace roformer
