// A unigram model as Hugging Face's tokenizers compute it (Kudo 2018): of all ways to cover a word
// with pieces, the one with the highest sum of scores; a character without a piece costs 10 more
// than the worst piece. Unknown neighbours become one token, or the pieces of their bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/word_splitter.h"

namespace roformer {

struct UnigramOptions {
  std::vector<double> scores;  // by id, of the model's pieces
  bool byte_fallback = false;
  TokenId unknown = 0;
};

// `pieces`: by id; `usable`: whether a text may become that piece.
std::unique_ptr<WordSplitter> make_unigram_model(UnigramOptions options,
                                                 const std::vector<std::string>& pieces,
                                                 const std::vector<bool>& usable);

}  // namespace roformer
