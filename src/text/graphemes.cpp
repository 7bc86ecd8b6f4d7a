#include "text/graphemes.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "text/characters.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// Unicode's data know marks that ICU's version has not.
UGraphemeClusterBreak cluster_break(char32_t c) {
  const auto value = static_cast<UGraphemeClusterBreak>(
      u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK));
  constexpr std::uint32_t kMarks = U_GC_MN_MASK | U_GC_ME_MASK;
  const bool unknown = value == U_GCB_OTHER && !u_isdefined(static_cast<UChar32>(c));
  return unknown && (code_point_category(c) & kMarks) != 0 ? U_GCB_EXTEND : value;
}

// The scripts whose consonants join over a virama (Unicode 15.1, rule GB9c).
bool joins_consonants(char32_t c) {
  switch (code_point_script(c)) {
    case USCRIPT_BENGALI:
    case USCRIPT_DEVANAGARI:
    case USCRIPT_GUJARATI:
    case USCRIPT_MALAYALAM:
    case USCRIPT_ORIYA:
    case USCRIPT_TELUGU:
      return true;
    default:
      return false;
  }
}
UIndicSyllabicCategory syllabic_category(char32_t c) {
  return static_cast<UIndicSyllabicCategory>(
      u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_INDIC_SYLLABIC_CATEGORY));
}
bool is_linking_consonant(char32_t c) {
  return joins_consonants(c) && syllabic_category(c) == U_INSC_CONSONANT;
}
bool is_linker(char32_t c) {
  return joins_consonants(c) && syllabic_category(c) == U_INSC_VIRAMA;
}

bool is_pictographic(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_EXTENDED_PICTOGRAPHIC);
}

bool hangul_goes_on(UGraphemeClusterBreak before, UGraphemeClusterBreak after) {
  switch (before) {
    case U_GCB_L:
      return after == U_GCB_L || after == U_GCB_V || after == U_GCB_LV || after == U_GCB_LVT;
    case U_GCB_LV:
    case U_GCB_V:
      return after == U_GCB_V || after == U_GCB_T;
    case U_GCB_LVT:
    case U_GCB_T:
      return after == U_GCB_T;
    default:
      return false;
  }
}

bool is_control(UGraphemeClusterBreak value) {
  return value == U_GCB_CONTROL || value == U_GCB_CR || value == U_GCB_LF;
}

// A cluster as far as it was read.
struct Cluster {
  UGraphemeClusterBreak last;
  bool conjunct;  // a consonant, then marks
  bool linked;    // ... with a virama among them
  bool emoji;     // a pictographic character, then marks
  int regional;   // indicators that it ends with
};

bool goes_on(const Cluster& cluster, UGraphemeClusterBreak next, char32_t c) {
  if (cluster.last == U_GCB_CR) return next == U_GCB_LF;
  if (is_control(cluster.last) || is_control(next)) return false;
  if (hangul_goes_on(cluster.last, next)) return true;
  if (next == U_GCB_EXTEND || next == U_GCB_ZWJ || next == U_GCB_SPACING_MARK) return true;
  if (cluster.last == U_GCB_PREPEND) return true;
  if (cluster.linked && is_linking_consonant(c)) return true;
  if (cluster.emoji && cluster.last == U_GCB_ZWJ && is_pictographic(c)) return true;
  return next == U_GCB_REGIONAL_INDICATOR && cluster.regional % 2 == 1;
}

}  // namespace

std::size_t grapheme_end(std::string_view text, std::size_t position) {
  const char first = text[position];
  const bool plain = static_cast<signed char>(first) >= 0 && first != '\r';
  if (plain && (position + 1 == text.size() || static_cast<signed char>(text[position + 1]) >= 0)) {
    return position + 1;
  }
  char32_t c = next_code_point(text, position);
  Cluster cluster = {.last = cluster_break(c),
                     .conjunct = is_linking_consonant(c),
                     .linked = false,
                     .emoji = is_pictographic(c),
                     .regional = 0};
  cluster.regional = cluster.last == U_GCB_REGIONAL_INDICATOR ? 1 : 0;
  while (position < text.size()) {
    std::size_t end = position;
    c = next_code_point(text, end);
    const UGraphemeClusterBreak next = cluster_break(c);
    if (!goes_on(cluster, next, c)) break;
    const bool mark = next == U_GCB_EXTEND || next == U_GCB_ZWJ;
    cluster.linked = cluster.conjunct && mark && (cluster.linked || is_linker(c));
    cluster.conjunct = mark ? cluster.conjunct : is_linking_consonant(c);
    cluster.emoji = mark ? cluster.emoji : is_pictographic(c);
    cluster.regional = next == U_GCB_REGIONAL_INDICATOR ? cluster.regional + 1 : 0;
    cluster.last = next;
    position = end;
  }
  return position;
}

}  // namespace roformer
