// tokenizer.json, the one file in which Hugging Face's tokenizers keep a whole tokenizer. Only the
// vocabulary of a WordPiece is taken from it. A pure function over text that trusts nothing.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

// The vocab.txt that its WordPiece comes to. Throws Error (failure, location `file`) for another
// kind of tokenizer and for ids that are not 0, 1, 2, ...
std::string vocabulary_of_tokenizer_json(std::string_view text, const std::string& file);

// Throws Error (failure) for a WordPiece that cuts text otherwise than BERT's, which is the one
// that is computed here: another way to find words, other marks inside them, text that is not
// cleaned. What a file does not say is as BERT has it; one that is no WordPiece is not looked
// at.
void require_bert_wordpiece(std::string_view text, const std::string& file);

}  // namespace roformer
