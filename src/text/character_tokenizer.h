// One id per character (code point) of a vocabulary that was built from a corpus; a character that
// is not in it becomes [UNK]. The file is JSON: {"format", "version", "characters": ["e", " ",
// ...]}.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/tokenizer.h"

namespace roformer {

// True when the contents say that they are a character vocabulary.
bool is_character_vocabulary(std::string_view contents);

// Throws Error naming the location when a field is missing or wrong. Ids 0 to 4 are [PAD], [UNK],
// [CLS], [SEP], [MASK]; the characters follow in the file's order.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::string contents,
                                                    const std::string& location);

// Counts the characters of a corpus and writes the vocabulary.
class CharacterCounter {
 public:
  void add(std::string_view text);
  // The contents of a vocabulary file of at most `size` entries, special tokens included: the
  // frequent characters first, equally frequent ones by code point. Throws Error without any text.
  std::string vocabulary(std::int64_t size) const;

 private:
  std::unordered_map<char32_t, std::uint64_t> counts_;
};

}  // namespace roformer
