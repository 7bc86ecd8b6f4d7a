#include "text/ordered_marks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace roformer {
namespace {

// Shorter runs cost ICU less than they would here.
constexpr std::int32_t kLongRun = 64;

struct Mark {
  std::uint8_t combining_class = 0;
  UChar32 code_point = 0;
};

// The code points that are no marks themselves and become nothing but marks.
bool may_become_marks(UChar32 c) {
  return c == 0x0F73 || c == 0x0F75 || c == 0x0F81 || c == 0xFF9E || c == 0xFF9F;
}

// Appends what the code point becomes, where it is a mark or becomes one.
bool append_marks(UChar32 c, const icu::Normalizer2& decomposition, std::vector<Mark>& marks) {
  if (decomposition.getCombiningClass(c) == 0 && !may_become_marks(c)) return false;
  icu::UnicodeString parts;
  if (!decomposition.getDecomposition(c, parts)) parts = c;
  if (decomposition.getCombiningClass(parts.char32At(0)) == 0) return false;
  for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
    const UChar32 part = parts.char32At(i);
    marks.push_back({.combining_class = decomposition.getCombiningClass(part), .code_point = part});
  }
  return true;
}

}  // namespace

icu::UnicodeString with_ordered_marks(const icu::UnicodeString& text,
                                      const icu::Normalizer2& decomposition) {
  if (text.length() <= kLongRun) return text;
  icu::UnicodeString result;
  std::vector<Mark> marks;
  std::int32_t copied = 0, begin = 0;
  for (std::int32_t i = 0; i <= text.length();) {
    const std::int32_t next = text.moveIndex32(i, 1);
    const bool goes_on = i < text.length() && append_marks(text.char32At(i), decomposition, marks);
    if (goes_on) {
      i = next;
      continue;
    }
    if (i - begin > kLongRun) {
      result.append(text, copied, begin - copied);
      std::ranges::stable_sort(marks, {}, &Mark::combining_class);
      for (const Mark& mark : marks) result.append(mark.code_point);
      copied = i;
    }
    marks.clear();
    if (i == text.length()) break;
    begin = i = next;
  }
  if (copied == 0) return text;
  return result.append(text, copied, text.length() - copied);
}

}  // namespace roformer
