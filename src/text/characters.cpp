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

// Without the joiners, and with the six numbers of Latin-1 that are no digits.
bool is_pattern_word_character(char32_t c) {
  const bool latin_number = c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0xBC && c <= 0xBE);
  const bool joiner = c == 0x200C || c == 0x200D;
  return latin_number || (is_word_character(c) && !joiner);
}

std::int32_t code_point_script(char32_t c) {
  // Code points that Unicode 15.1 and 16 added to scripts of earlier versions.
  struct Added {
    char32_t first, last;
    std::int32_t script;
  };
  static constexpr Added kAdded[] = {
      {0x897, 0x897, USCRIPT_ARABIC},      {0x1B4E, 0x1B4F, USCRIPT_BALINESE},
      {0x1B7F, 0x1B7F, USCRIPT_BALINESE},  {0x1C89, 0x1C8A, USCRIPT_CYRILLIC},
      {0xA7CB, 0xA7CD, USCRIPT_LATIN},     {0xA7DA, 0xA7DC, USCRIPT_LATIN},
      {0x10EC2, 0x10EC4, USCRIPT_ARABIC},  {0x10EFC, 0x10EFC, USCRIPT_ARABIC},
      {0x116D0, 0x116E3, USCRIPT_MYANMAR}, {0x13460, 0x143FA, USCRIPT_EGYPTIAN_HIEROGLYPHS},
      {0x2EBF0, 0x2EE5D, USCRIPT_HAN}};
  UErrorCode error = U_ZERO_ERROR;
  const std::int32_t script = uscript_getScript(static_cast<UChar32>(c), &error);
  if (script != USCRIPT_UNKNOWN || U_FAILURE(error)) return U_FAILURE(error) ? -1 : script;
  for (const Added& added : kAdded) {
    if (c >= added.first && c <= added.last) return added.script;
  }
  return script;
}

bool is_mark_of_unicode_9(char32_t c) {
  constexpr std::uint8_t kVersion = 9;
  const auto point = static_cast<UChar32>(c);
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // letters since
  if (c == 0x111C9 || (U_GET_GC_MASK(point) & U_GC_M_MASK) == 0) return false;
  UVersionInfo since;
  u_charAge(point, since);
  return since[0] <= kVersion;
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
