// Byte-level BPE (Radford et al. 2019), and BPE and unigram models over SentencePiece's marked
// spaces, from a tokenizer.json: exactly as Hugging Face's tokenizers encode and decode with it. As
// everywhere in this program, encode() reads the name of a special token in a text as letters
// (there: encode_special_tokens), and never gives a special token.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace roformer {

// Throws Error (failure, `location`) as parse_byte_level_file.
std::unique_ptr<Tokenizer> make_byte_level_tokenizer(std::string contents,
                                                     const std::string& location);

}  // namespace roformer
