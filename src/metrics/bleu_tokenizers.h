// The tokenizers of sacreBLEU, one a file, equal to it character by character. Each takes a line of
// plain text and returns it with its tokens between spaces; sacreBLEU's own slips are kept, because
// published scores have them.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

// mteval-v13a.pl, WMT's: punctuation of ASCII, but not inside numbers.
std::string tokenize_13a(std::string_view line);
// The part of it that the Chinese tokenizer shares: without the entities and the outer spaces.
std::string split_ascii_punctuation(std::string line);

// mteval-v14.pl --international-tokenization: punctuation and symbols of all scripts.
std::string tokenize_international(std::string_view line);

// Every character that is no space is a token.
std::string tokenize_characters(std::string_view line);

// Every Chinese character is a token, the rest as 13a does.
std::string tokenize_chinese(std::string_view line);

}  // namespace roformer
