#include "text/characters.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "text/new_code_points.h"
#include "text/utf8.h"

namespace roformer {

std::uint32_t code_point_category(char32_t c) {
  const std::uint32_t category = U_GET_GC_MASK(static_cast<UChar32>(c));
  if (category != U_GC_CN_MASK) return category;
  const auto* const range = std::lower_bound(
      std::begin(kNewCodePoints), std::end(kNewCodePoints), c,
      [](const NewCodePoints& points, char32_t point) { return points.last < point; });
  return range != std::end(kNewCodePoints) && range->first <= c ? range->category : category;
}

bool is_word_character(char32_t c) {
  constexpr std::uint32_t kWord =
      U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_NL_MASK | U_GC_PC_MASK;
  const auto point = static_cast<UChar32>(c);
  return (code_point_category(c) & kWord) != 0 || u_hasBinaryProperty(point, UCHAR_ALPHABETIC) ||
         u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL);
}

namespace {

bool is_unspaced(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_breaksBetweenLetters(uscript_getScript(c, &error)) != 0;
}

// The character that the bytes begin with, with zeros for missing bits. -1 if no such script has
// it.
UChar32 letter_at_front(std::string_view bytes) {
  const auto lead = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  const int length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : 0;
  if (length == 0) return -1;  // no such script has shorter characters
  UChar32 c = lead & (length == 4 ? 0x07 : 0x0F);
  for (int i = 1; i < length; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto byte = at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0x80;
    if (!is_continuation_byte(static_cast<char>(byte))) return -1;
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
  if (bytes.size() > 4) bytes.remove_prefix(bytes.size() - 4);
  // Half a character continues in the next piece.
  const std::string_view last =
      bytes.empty() ? bytes : bytes.substr(character_before(bytes, bytes.size()));
  const bool whole =
      !last.empty() && last.size() == (static_cast<unsigned char>(last[0]) >= 0xF0 ? 4U : 3U);
  return whole && begins_unspaced(last);
}

LanguageScript::LanguageScript(const std::string& language) {
  if (language.empty()) return;
  std::array<UScriptCode, 8> found{};
  UErrorCode error = U_ZERO_ERROR;
  const std::int32_t count = uscript_getCode(language.c_str(), found.data(), found.size(), &error);
  if (U_FAILURE(error)) return;
  scripts_.assign(found.begin(), found.begin() + std::min<std::int32_t>(count, found.size()));
}

double LanguageScript::share(std::string_view text) const {
  std::int64_t letters = 0, right = 0;
  for (std::size_t position = 0; position < text.size();) {
    const auto c = static_cast<UChar32>(next_code_point(text, position));
    if (!u_isalpha(c)) continue;
    ++letters;
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(c, &error);
    right += script == USCRIPT_COMMON || script == USCRIPT_INHERITED ||
             std::ranges::find(scripts_, script) != scripts_.end();
  }
  return letters == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(letters);
}

}  // namespace roformer
