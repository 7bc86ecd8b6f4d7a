#include "text/tokenizer.h"

#include <xxhash.h>

#include "text/utf8.h"

namespace roformer {

bool Tokenizer::is_special(TokenId id) const {
  const SpecialTokens& tokens = special();
  return id >= 0 && (id == tokens.padding || id == tokens.unknown || id == tokens.classification ||
                     id == tokens.separator || id == tokens.mask);
}

bool same_vocabulary(const Tokenizer& a, const Tokenizer& b) {
  if (a.fingerprint() == b.fingerprint()) return true;
  if (a.vocabulary_size() != b.vocabulary_size()) return false;
  for (TokenId id = 0; id < a.vocabulary_size(); ++id) {
    if (a.piece(id) != b.piece(id)) return false;
  }
  return true;
}

void Tokenizer::find_words(std::span<const TokenId> ids, std::vector<char>& begins) const {
  begins.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) begins[i] = begins_word(ids[i]) ? 1 : 0;
}

std::uint64_t Tokenizer::fingerprint(std::string_view description, std::string_view file_contents) {
  return XXH3_64bits_withSeed(file_contents.data(), file_contents.size(),
                              XXH3_64bits(description.data(), description.size()));
}

std::string decode_text(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  const std::string text = tokenizer.decode(ids);
  std::string repaired;
  std::uint64_t replaced = 0;
  return std::string(repair_utf8(text, repaired, replaced));
}

}  // namespace roformer
