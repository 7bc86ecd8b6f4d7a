// The tokenizer of a folder with an encoder: WordPiece from vocab.txt or tokenizer.json
// (tokenizer_config.json tells whether it keeps case), a BPE or unigram model from tokenizer.json,
// a byte-level BPE from vocab.json and merges.txt, or a SentencePiece model. If the folder also
// holds a dictionary of Chinese words (dict.txt), it is the word tokenizer of WoBERT and RoFormer.
// An export writes tokenizer.json, which transformers loads, tokenizer_config.json and the
// tokenizer's own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// Appends to `notes` what a user should know. Throws Error (failure) if the folder has no tokenizer
// that this program reads.
std::unique_ptr<Tokenizer> read_encoder_tokenizer(const std::filesystem::path& folder,
                                                  std::vector<std::string>& notes);

struct EncoderTexts {
  std::int64_t longest = 0;  // the number of tokens that the model has positions for
  bool token_types = false;  // the model tells the two texts of a pair apart
};
void write_encoder_tokenizer(const Tokenizer& tokenizer, const EncoderTexts& texts,
                             const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
