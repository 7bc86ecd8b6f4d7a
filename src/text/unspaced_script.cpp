#include "text/unspaced_script.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <cstddef>

namespace roformer {
namespace {

bool is_unspaced(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_breaksBetweenLetters(uscript_getScript(c, &error)) != 0;
}

// The character that the bytes begin with, with zeros for the bits that are missing; -1: none.
UChar32 letter_at_front(std::string_view bytes) {
  const auto lead = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  const int length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : 0;
  if (length == 0) return -1;  // no such script has shorter characters
  UChar32 c = lead & (length == 4 ? 0x07 : 0x0F);
  for (int i = 1; i < length; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto byte = at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0x80;
    if ((byte & 0xC0) != 0x80) return -1;
    c = c << 6 | (byte & 0x3F);
  }
  return c;
}

}  // namespace

bool begins_unspaced(std::string_view bytes) {
  const UChar32 c = letter_at_front(bytes);
  return c >= 0 && is_unspaced(c);
}

bool ends_unspaced(std::string_view bytes) {
  std::size_t begin = bytes.size();
  constexpr std::size_t kLongest = 4;
  const std::size_t earliest = bytes.size() - std::min(bytes.size(), kLongest);
  while (begin > earliest) {
    --begin;
    if ((static_cast<unsigned char>(bytes[begin]) & 0xC0) != 0x80) break;
  }
  // Half a character goes on in the next piece.
  const std::string_view last = bytes.substr(begin);
  const bool whole =
      !last.empty() && last.size() == (static_cast<unsigned char>(last[0]) >= 0xF0 ? 4U : 3U);
  return whole && begins_unspaced(last);
}

}  // namespace roformer
