// Tokens that stand beside a vocabulary ("added tokens" of Hugging Face's tokenizers): they are
// found in the text before it is cut into words, the leftmost first and there the longest. Special
// ones are not found: text never yields them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/tokenizer.h"

namespace roformer {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;
  bool single_word = false;   // only where no letter or digit stands beside it
  bool takes_before = false;  // the white space before it belongs to it
  bool takes_behind = false;
  bool normalized = false;  // found in the normalised text
};

class AddedTokens {
 public:
  void insert(AddedToken token);

  // The parts of valid UTF-8 in their order: text between tokens, and tokens.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(TokenId)>& on_token) const;

 private:
  PieceTrie trie_;  // of indices in tokens_
  std::vector<AddedToken> tokens_;

  bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) const;
};

}  // namespace roformer
