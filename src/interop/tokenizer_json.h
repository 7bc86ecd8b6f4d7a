// tokenizer.json, the one file in which Hugging Face's tokenizers keep a whole tokenizer. Only the
// vocabulary of a WordPiece is taken from it. A pure function over text that trusts nothing.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

// The vocab.txt that its WordPiece comes to. Throws Error (failure, location `file`) for another
// kind of tokenizer and for ids that are not 0, 1, 2, ...
std::string vocabulary_of_tokenizer_json(std::string_view text, const std::string& file);

}  // namespace roformer
