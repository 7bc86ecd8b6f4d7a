#include "interop/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "tensor/aten.h"
#include "text/marian_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kSourceModel = "source.spm";
constexpr const char* kTargetModel = "target.spm";
constexpr const char* kPieceIds = "vocab.json";
constexpr const char* kTargetPieceIds = "target_vocab.json";
constexpr const char* kOutputBias = "output.bias";  // final_logits_bias in the folder

// Returns the pieces in the order of their ids, which must be 0, 1, 2, ...
std::vector<std::string> read_pieces(const fs::path& path) {
  const json document = read_json(path);
  if (!document.is_object()) throw_failure(path.string(), "is not a JSON object");
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

struct SideReader {
  const fs::path& folder;
  const TranslatorTokens& tokens;
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

void read_tokenizers(const fs::path& folder, const TranslatorTokens& tokens,
                     PretrainedModel& model) {
  const json config = read_object_if_there(folder / kTokenizerConfigFile);
  const auto separate = config.find("separate_vocabs");
  const bool two = separate != config.end() && separate->is_boolean() && separate->get<bool>();
  const SideReader reader{
      .folder = folder, .tokens = tokens, .unknown = name_of_token(config, "unk_token", "<unk>")};
  model.source_tokenizer = reader.read(kSourceModel, kPieceIds);
  model.tokenizer = reader.read(kTargetModel, two ? kTargetPieceIds : kPieceIds);
}

// Cuts the tables to the pieces of each side; the rows beyond them are unused.
void cut_tables(PretrainedModel& model) {
  const auto cut = [&](const char* table, const Tokenizer& tokenizer) {
    const auto found = model.tensors.find(table);
    if (found == model.tensors.end()) return;
    const std::int64_t rows = found->second.size(0), pieces = tokenizer.vocabulary_size();
    if (rows == pieces) return;
    found->second = found->second.narrow(0, 0, pieces).clone();
    if (found->first == kOutputBias) return;  // the note about its table covers it
    model.notes.push_back(fmt::format(
        "{}: {} rows for {} pieces; the rows without a piece are left out", table, rows, pieces));
  };
  cut("encoder.embedding.tokens.weight", *model.source_tokenizer);
  for (const char* table : {"decoder.embedding.tokens.weight", "output.weight", kOutputBias}) {
    cut(table, *model.tokenizer);
  }
}

void fit_vocabularies(const fs::path& folder, const TableRows& rows, PretrainedModel& model) {
  const Tokenizer& target = *model.tokenizer;
  const bool shared = model.settings.translation.tie_embeddings;
  require_rows(folder, *model.source_tokenizer, rows.vocabulary);
  require_rows(folder, target, rows.target);
  if (!shared) require_rows(folder, target, rows.decoder_table);
  if (shared && !same_vocabulary(*model.source_tokenizer, target)) {
    throw_failure(folder.string(), "source and target share a table and not a vocabulary");
  }
  if (!shared) {
    cut_tables(model);
  } else if (rows.vocabulary != target.vocabulary_size()) {
    model.settings.model.vocabulary = rows.vocabulary;
  }
}

void compare_choices(const TranslatorTokens& tokens, PretrainedModel& model) {
  const SpecialTokens& special = model.tokenizer->special();
  const auto excluded = [&](std::int64_t id) {
    return std::ranges::find(tokens.never, id) != tokens.never.end();
  };
  model.settings.decoding.unknown = !excluded(special.unknown);
  const std::int64_t pieces = model.tokenizer->vocabulary_size();
  const auto others = std::ranges::count_if(tokens.never, [&](std::int64_t id) {
    return id < pieces && id != special.unknown && id != special.padding && id != tokens.begin;
  });
  if (others > 0) {
    model.notes.push_back(fmt::format(
        "its generate() never chooses {} more tokens (bad_words_ids, suppress_tokens); here it may",
        others));
  }
  if (!excluded(special.padding)) {
    model.notes.push_back("its generate() may choose the padding; here it is never chosen");
  }
}

// Most models have no bias: drops one whose values are zero for all pieces.
void settle_output_bias(PretrainedModel& model) {
  const auto bias = model.tensors.find(kOutputBias);
  if (bias == model.tensors.end()) return;
  model.settings.translation.output_bias = bias->second.ne(0).any().item<bool>();
  if (!model.settings.translation.output_bias) model.tensors.erase(bias);
}

}  // namespace

bool has_sentencepiece(const Tokenizer& tokenizer) {
  return tokenizer.kind() == TokenizerKind::sentencepiece ||
         tokenizer.kind() == TokenizerKind::marian;
}

std::string_view sentencepiece_model(const Tokenizer& tokenizer) {
  return tokenizer.kind() == TokenizerKind::marian ? sentencepiece_of(tokenizer)
                                                   : std::string_view(tokenizer.file_contents());
}

void settle_tables(FolderWeights& weights, FolderConfig& config) {
  TranslationSettings& translation = config.settings.translation;
  TableRows& rows = config.rows;
  constexpr const char* kOutput = "lm_head.weight";
  constexpr const char* kDecoderTable = "decoder.embed_tokens.weight";
  if (!translation.tie_embeddings) {
    const bool tied = translation.tie_output && !weights.contains(kDecoderTable);
    const char* const table = tied ? kOutput : kDecoderTable;
    if (!weights.contains(table)) return;  // take() reports the missing table
    rows.decoder_table = weights.rows(table);
    if (rows.decoder_table == rows.target || rows.decoder_table == rows.vocabulary) return;
    throw_failure(weights.location(),
                  fmt::format("\"{}\" has {} rows, config.json makes it {} (or {}, as transformers "
                              "4 has it)",
                              kDecoderTable, rows.decoder_table, rows.target, rows.vocabulary));
  }
  if (config.output_by_weights && !weights.contains(kOutput)) translation.tie_output = true;
  if (translation.tie_output || !weights.contains(kOutput)) return;
  // The output may be the shared table even if config.json says that it has its own.
  for (const char* name : {"shared.weight", "encoder.embed_tokens.weight", kDecoderTable}) {
    if (!weights.contains(name)) continue;
    const std::int64_t width = config.settings.model.width;
    const at::Tensor table = weights.take(name, {rows.vocabulary, width});
    translation.tie_output = at::equal(weights.take(kOutput, {rows.target, width}), table);
    break;
  }
  if (config.output_by_weights) {
    // The scale of the logits is that of the table here, which the output must then be.
    if (translation.tie_output || config.settings.model.embedding_scale == EmbeddingScale::none) {
      return;
    }
    throw_failure(config.file,
                  "scales the logits (\"scale_decoder_outputs\", or \"tie_word_embeddings\" as it "
                  "is by default), and lm_head.weight is not the shared table",
                  "this program scales logits of the shared table only; version 1.1 has "
                  "\"tie_word_embeddings\": false");
  }
  if (!translation.tie_output) return;
  config.notes.push_back(
      "its \"tie_word_embeddings\" is false and its output's table is the shared one, number for "
      "number: here the two are one, in a training, too");
}

void read_output_bias(FolderWeights& weights, const FolderConfig& config, PretrainedModel& model) {
  if (!weights.contains("final_logits_bias")) return;
  model.tensors[kOutputBias] =
      weights.take("final_logits_bias", {1, config.rows.target}).reshape({-1});
}

void finish_translator(const fs::path& folder, const FolderConfig& config, PretrainedModel& model) {
  if (config.family->read_tokenizers != nullptr) {
    config.family->read_tokenizers(folder, config, model);
  } else {
    read_tokenizers(folder, config.tokens, model);
  }
  fit_vocabularies(folder, config.rows, model);
  compare_choices(config.tokens, model);
  settle_output_bias(model);
}

void require_rows(const fs::path& folder, const Tokenizer& tokenizer, std::int64_t rows) {
  if (tokenizer.vocabulary_size() <= rows) return;
  throw_failure(folder.string(),
                fmt::format("the vocabulary has {} pieces, the weights have rows for {}",
                            tokenizer.vocabulary_size(), rows),
                "vocabulary and weights must be of one model");
}

bool write_without_sentencepiece(const TranslatorTokenizers& tokenizers, const char* theirs,
                                 const fs::path& folder, std::vector<std::string>& notes) {
  const auto& [source, target, separate] = tokenizers;
  if (has_sentencepiece(source) && has_sentencepiece(target)) return false;
  for (const auto& [tokenizer, side] :
       {std::pair(&source, "source"), std::pair(&target, "target")}) {
    if (tokenizer->file_name().empty()) continue;
    write_file_atomically(folder / fmt::format("{}-{}", side, tokenizer->file_name()),
                          tokenizer->file_contents());
  }
  notes.push_back(fmt::format(
      "transformers' {} knows only SentencePiece: {} is written as it is, and the text must be "
      "encoded with it",
      theirs, source.description()));
  return true;
}

void write_translator_tokenizers(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                                 const fs::path& folder, std::vector<std::string>& notes) {
  const auto& [source, target, separate] = tokenizers;
  if (write_without_sentencepiece(tokenizers, "MarianTokenizer", folder, notes)) return;
  write_file_atomically(folder / kSourceModel, sentencepiece_model(source));
  write_file_atomically(folder / kTargetModel, sentencepiece_model(target));
  write_file_atomically(folder / kPieceIds, vocabulary_json(source).dump(2) + "\n");
  if (separate) {
    write_file_atomically(folder / kTargetPieceIds, vocabulary_json(target).dump(2) + "\n");
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
  write_json(folder / kTokenizerConfigFile, config);
  if (target.kind() == TokenizerKind::sentencepiece &&
      special.padding + 1 != target.vocabulary_size()) {
    notes.push_back(
        "ct2-transformers-converter does not read it, as its padding is not the last piece: "
        "scripts/peers/ctranslate2_translate.py converts it");
  }
}

}  // namespace roformer
