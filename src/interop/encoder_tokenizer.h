// The tokenizer of a folder with an encoder: WordPiece from vocab.txt or tokenizer.json, whose case
// is told by tokenizer_config.json, a byte-level BPE, or a SentencePiece model; with a dictionary
// of Chinese words (dict.txt, which the folder may hold) the word tokenizer of WoBERT and RoFormer.
// Written back as vocab.txt or tokenizer.json with tokenizer_config.json, or as the tokenizer's own
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// Appends to `notes` what a user should know. Throws Error (failure) where there is none that this
// program reads.
std::unique_ptr<Tokenizer> read_encoder_tokenizer(const std::filesystem::path& folder,
                                                  std::vector<std::string>& notes);

// `longest`: tokens that the model has positions for.
void write_encoder_tokenizer(const Tokenizer& tokenizer, std::int64_t longest,
                             const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
