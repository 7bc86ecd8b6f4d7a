// SentencePiece models, unigram and BPE, through Google's library. Text never produces control
// symbols. If the model allows it, words are split one by one and cached.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace roformer {

// True if the contents are a model that the library reads.
bool is_sentencepiece_model(std::string_view contents);

// Throws Error naming the location if the contents are not a model. The special tokens are the
// model's padding, unknown, begin ([CLS]) and end ([SEP]) ids, and the piece [MASK] or <mask>.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string contents,
                                                        const std::string& location);

}  // namespace roformer
