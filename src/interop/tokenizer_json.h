// tokenizer.json, the one file in which Hugging Face's tokenizers keep a whole tokenizer. This
// program takes only a WordPiece vocabulary from it. The functions that read are pure and trust
// nothing in the text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "text/hugging_face_json.h"

namespace roformer {

// Converts the file's WordPiece vocabulary to the text of a vocab.txt. Throws Error (failure,
// location `file`) for another kind of tokenizer and for ids that are not 0, 1, 2, ...
std::string vocabulary_of_tokenizer_json(std::string_view text, const std::string& file);

// Throws Error (failure) for a WordPiece that splits text differently from BERT's, the only one
// that this program computes: another way to find words, other marks for pieces inside words, or
// text that is not cleaned. Missing fields have BERT's values. Ignores tokenizers of other kinds.
void require_bert_wordpiece(std::string_view text, const std::string& file);

// Writes tokenizer.json into the folder, with notes on what differs there. False, without a file,
// for a tokenizer that the format cannot express.
bool write_tokenizer_json(const Tokenizer& tokenizer, const TextFrame& frame,
                          const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
