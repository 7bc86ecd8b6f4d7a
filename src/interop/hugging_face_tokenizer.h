// The tokenizer of a Hugging Face folder: WordPiece from vocab.txt or tokenizer.json, whose case is
// told by tokenizer_config.json, or a SentencePiece model. Written back as vocab.txt with
// tokenizer_config.json, or as the tokenizer's own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// Appends to `notes` what a user should know. Throws Error (failure) where there is none that this
// program reads.
std::unique_ptr<Tokenizer> read_hugging_face_tokenizer(const std::filesystem::path& folder,
                                                       std::vector<std::string>& notes);

// The vocab.txt that the WordPiece of a tokenizer.json comes to. Throws Error (failure, place
// `file`) for another kind of tokenizer and for ids that are not 0, 1, 2, ...
std::string vocabulary_of_tokenizer_json(std::string_view text, const std::string& file);

// `longest`: tokens that the model has places for.
void write_hugging_face_tokenizer(const Tokenizer& tokenizer, std::int64_t longest,
                                  const std::filesystem::path& folder,
                                  std::vector<std::string>& notes);

}  // namespace roformer
