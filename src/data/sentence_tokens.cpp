#include "data/sentence_tokens.h"

#include "base/error.h"

namespace roformer {

SentenceTokens sentence_tokens(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  if (special.separator < 0) {
    throw_usage(
        "tokenizer", tokenizer.description() + " has no token that ends a sentence",
        "train one with `roformer tokenizer train`, or take a vocabulary with </s> or [SEP]");
  }
  SentenceTokens tokens{.begin = special.classification, .end = special.separator};
  if (tokens.begin < 0) tokens.begin = special.padding;
  if (tokens.begin < 0) tokens.begin = special.separator;
  return tokens;
}

}  // namespace roformer
