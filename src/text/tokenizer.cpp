#include "text/tokenizer.h"

#include <xxhash.h>

namespace roformer {

bool Tokenizer::is_special(TokenId id) const {
  const SpecialTokens& tokens = special();
  return id >= 0 && (id == tokens.padding || id == tokens.unknown || id == tokens.classification ||
                     id == tokens.separator || id == tokens.mask);
}

void Tokenizer::find_words(std::span<const TokenId> ids, std::vector<char>& begins) const {
  begins.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) begins[i] = begins_word(ids[i]) ? 1 : 0;
}

std::uint64_t Tokenizer::fingerprint(std::string_view description, std::string_view file_contents) {
  return XXH3_64bits_withSeed(file_contents.data(), file_contents.size(),
                              XXH3_64bits(description.data(), description.size()));
}

}  // namespace roformer
