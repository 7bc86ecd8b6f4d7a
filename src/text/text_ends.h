// What ends a text that a language model writes.
#pragma once

#include <cstdint>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// The ids that are named (decoding.end_tokens), or the vocabulary's separator; empty where it has
// none.
std::vector<std::int64_t> text_ends(const Tokenizer& tokenizer,
                                    const std::vector<std::int64_t>& named);

}  // namespace roformer
