// What a folder with a translator needs beside the map of its weights: tables of tokens whose rows
// are padded or tied, a bias of the output, and two tokenizers: source.spm and target.spm, whose
// pieces have the ids of vocab.json (and target_vocab.json, where each side has its own
// vocabulary).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "interop/folder.h"
#include "interop/import.h"
#include "text/tokenizer.h"

namespace roformer {

// Before the weights are taken: whether the output is the shared table, and the rows of the
// decoder's. Throws Error (failure) where they are neither side's.
void settle_tables(FolderWeights& weights, FolderConfig& config);
// Their bias [1, V].
void read_output_bias(FolderWeights& weights, const FolderConfig& config, PretrainedModel& model);
// Reads the tokenizers, cuts the tables to their pieces, and compares with what generate() chooses.
// Throws Error (failure) for a file that is missing or does not fit.
void finish_translator(const std::filesystem::path& folder, const FolderConfig& config,
                       PretrainedModel& model);
// Throws Error (failure) for more pieces than rows.
void require_rows(const std::filesystem::path& folder, const Tokenizer& tokenizer,
                  std::int64_t rows);

// The same object on both sides where there is one tokenizer. `separate`: each side has its own
// table. Appends to `notes` what a user should know.
struct TranslatorTokenizers {
  const Tokenizer& source;
  const Tokenizer& target;
  bool separate = false;
};
void write_translator_tokenizers(const TranslatorTokenizers& tokenizers, std::int64_t longest,
                                 const std::filesystem::path& folder,
                                 std::vector<std::string>& notes);

}  // namespace roformer
