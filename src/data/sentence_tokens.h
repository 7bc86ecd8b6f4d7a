// The tokens around a sentence that a translator reads and writes.
#pragma once

#include "text/tokenizer.h"

namespace roformer {

struct SentenceTokens {
  TokenId begin = -1;  // what a decoder starts from
  TokenId end = -1;    // the last token of a source and of a target
};

// Begin is [CLS] (<s>) where the vocabulary has it, else the padding, as Marian's, else the end, as
// fairseq's; end is [SEP] (</s>). Throws Error (usage) for a vocabulary without an end.
SentenceTokens sentence_tokens(const Tokenizer& tokenizer);

}  // namespace roformer
