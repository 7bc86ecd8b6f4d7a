// The pieces of single bytes in a vocabulary with byte fallback: "<0x00>" to "<0xFF>".
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

class BytePieces {
 public:
  BytePieces() { ids_.fill(-1); }  // none
  explicit BytePieces(const std::vector<std::string>& pieces, const std::vector<bool>& usable);

  // Appends the ids of the bytes. If one of them has no piece, appends nothing and returns false.
  bool append(std::string_view bytes, std::vector<TokenId>& ids) const;

 private:
  std::array<TokenId, 256> ids_;
};

// The byte of such a piece; -1 for another text.
int byte_of_piece(std::string_view piece);

}  // namespace roformer
