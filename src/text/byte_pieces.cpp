#include "text/byte_pieces.h"

#include <algorithm>
#include <charconv>

namespace roformer {

int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  int byte = -1;
  const char* const begin = piece.data() + 3;
  const auto [end, error] = std::from_chars(begin, begin + 2, byte, 16);
  return error == std::errc() && end == begin + 2 && byte >= 0 ? byte : -1;
}

BytePieces::BytePieces(const std::vector<std::string>& pieces, const std::vector<bool>& usable) {
  constexpr std::string_view kSmallLetters = "abcdef";
  ids_.fill(-1);
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const std::string_view piece = pieces[id];
    const int byte = usable[id] ? byte_of_piece(piece) : -1;
    if (byte < 0 || piece.find_first_of(kSmallLetters, 3) != std::string_view::npos) continue;
    ids_[static_cast<std::size_t>(byte)] = static_cast<TokenId>(id);
  }
}

bool BytePieces::append(std::string_view bytes, std::vector<TokenId>& ids) const {
  const auto id_of = [this](char byte) { return ids_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::any_of(bytes, [&](char byte) { return id_of(byte) < 0; })) return false;
  for (const char byte : bytes) ids.push_back(id_of(byte));
  return true;
}

}  // namespace roformer
