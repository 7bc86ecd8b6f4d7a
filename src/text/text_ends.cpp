#include "text/text_ends.h"

namespace roformer {

std::vector<std::int64_t> text_ends(const Tokenizer& tokenizer,
                                    const std::vector<std::int64_t>& named) {
  if (!named.empty()) return named;
  const TokenId separator = tokenizer.special().separator;
  return separator < 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{separator};
}

}  // namespace roformer
