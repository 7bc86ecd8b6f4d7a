// The tokenizers that do not split text into words: text as bytes, as characters, and text that
// already consists of ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/tokenizer.h"

namespace roformer {

// One id per byte (0 to 255), then the special tokens. Needs no vocabulary, and is lossless for any
// input, malformed UTF-8 included.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// One id per character (code point) of a vocabulary that was built from a corpus; any other
// character becomes [UNK]. The file is JSON: {"format", "version", "characters": ["e", " ", ...]}.
// Ids 0 to 4 are [PAD], [UNK], [CLS], [SEP], [MASK]; the characters follow in the file's order.
// Throws Error naming the location when a field is missing or wrong.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::string contents,
                                                    const std::string& location);
bool is_character_vocabulary(std::string_view contents);

// Counts the characters of a corpus and writes the vocabulary.
class CharacterCounter {
 public:
  void add(std::string_view text);
  // The contents of a vocabulary file of at most `size` entries, special tokens included. Frequent
  // characters come first, equally frequent ones by code point. Throws Error if there is no text.
  std::string vocabulary(std::int64_t size) const;

 private:
  std::unordered_map<char32_t, std::uint64_t> counts_;
};

// Texts that already consist of ids, "17 4 25", from another program's tokenizer, for a model whose
// own tokenizer this program cannot read. It has no special tokens. Throws Error (failure) naming
// the location for contents that id_model() did not write; its encode() throws Error (usage) for a
// word that is no id.
std::unique_ptr<Tokenizer> make_id_tokenizer(std::string contents, const std::string& location);
// The contents of the file of a vocabulary of so many ids.
std::string id_model(std::int64_t vocabulary);
bool is_id_model(std::string_view contents);

}  // namespace roformer
