// The tokenizer that needs no vocabulary: one id per byte (0 to 255), then the special tokens. It
// is lossless for any input, malformed UTF-8 included.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace roformer {

std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace roformer
