// tokenizer.json with a WordPiece model, the one file in which Hugging Face's tokenizers keep a
// whole tokenizer; byte_level_file.h reads the other models. The functions are pure and trust
// nothing in the text.
#pragma once

#include <string>
#include <string_view>

#include "text/wordpiece_tokenizer.h"

namespace roformer {

// Converts the file's WordPiece vocabulary to the text of a vocab.txt. Throws Error (failure,
// location `file`) for another kind of tokenizer and for ids that are not 0, 1, 2, ...
std::string vocabulary_of_tokenizer_json(std::string_view text, const std::string& file);

// Throws Error (failure) for a WordPiece that splits text differently from BERT's, the only one
// that this program computes: another way to find words, other marks for pieces inside words, or
// text that is not cleaned. Missing fields have BERT's values. Ignores tokenizers of other kinds.
void require_bert_wordpiece(std::string_view text, const std::string& file);

// Whether the text looks like such a file.
bool is_wordpiece_json(std::string_view text);
// The vocabulary, the rules and the added tokens of such a file. Throws Error (failure) as the
// functions above.
WordPieceModel wordpiece_of_tokenizer_json(std::string_view text, const std::string& file);

// Whether the token is one that every vocabulary of BERT has, without options.
bool is_plain_bert_token(const AddedToken& token);

}  // namespace roformer
