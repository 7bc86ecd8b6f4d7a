#include "text/code_point_category.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>

#include "text/new_code_points.h"

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

}  // namespace roformer
