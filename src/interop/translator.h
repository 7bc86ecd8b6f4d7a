// The parts of a translator's folder that the map of its weights does not cover: tables of tokens
// with padded or tied rows, a bias of the output, and two tokenizers. These are source.spm and
// target.spm; vocab.json gives the ids of their pieces, and target_vocab.json those of the target
// if each side has its own vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "interop/folder.h"
#include "interop/import.h"
#include "text/tokenizer.h"

namespace roformer {

// Decides before the weights are taken whether the output is the shared table and how many rows the
// decoder's table has. Throws Error (failure) if the rows fit neither side.
void settle_tables(FolderWeights& weights, FolderConfig& config);
// Reads the bias of the output, [1, V].
void read_output_bias(FolderWeights& weights, const FolderConfig& config, PretrainedModel& model);
// Reads the tokenizers, cuts the tables to their pieces, and compares with the choices of
// generate(). Throws Error (failure) for a file that is missing or does not fit.
void finish_translator(const std::filesystem::path& folder, const FolderConfig& config,
                       PretrainedModel& model);
// Throws Error (failure) if there are more pieces than rows.
void require_rows(const std::filesystem::path& folder, const Tokenizer& tokenizer,
                  std::int64_t rows);

// The two tokenizers of a translator: the same object twice if both sides share one. `separate`:
// each side has its own table. Appends to `notes` what a user should know.
struct TranslatorTokenizers {
  const Tokenizer& source;
  const Tokenizer& target;
  bool separate = false;
};
// Writes the tokenizers as they are, with a note, if one of them has no SentencePiece model.
// `theirs`: transformers' tokenizer. Returns false if both have one.
bool write_without_sentencepiece(const TranslatorTokenizers& tokenizers, const char* theirs,
                                 const std::filesystem::path& folder,
                                 std::vector<std::string>& notes);
bool has_sentencepiece(const Tokenizer& tokenizer);
// The SentencePiece model of a tokenizer that has one.
std::string_view sentencepiece_model(const Tokenizer& tokenizer);
void write_translator_tokenizers(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                                 const std::filesystem::path& folder,
                                 std::vector<std::string>& notes);

// T5's tokenizer: one SentencePiece model (spiece.model), whose pieces are followed by the names of
// gaps in a text, <extra_id_99> to <extra_id_0>, or tokenizer.json. Sets both tokenizers of the
// model. Throws Error (failure) for a file that is missing or whose special tokens have other ids
// than config.json says.
void read_t5_tokenizer(const std::filesystem::path& folder, const FolderConfig& config,
                       PretrainedModel& model);
void write_t5_tokenizer(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                        const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
