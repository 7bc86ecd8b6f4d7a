#include "text/tokenizer.h"

#include <xxhash.h>

namespace roformer {

bool Tokenizer::is_special(TokenId id) const {
  const SpecialTokens& tokens = special();
  return id >= 0 && (id == tokens.padding || id == tokens.unknown || id == tokens.classification ||
                     id == tokens.separator || id == tokens.mask);
}

std::uint64_t Tokenizer::fingerprint() const {
  const std::string about = description();
  const std::string& contents = file_contents();
  return XXH3_64bits_withSeed(contents.data(), contents.size(),
                              XXH3_64bits(about.data(), about.size()));
}

}  // namespace roformer
