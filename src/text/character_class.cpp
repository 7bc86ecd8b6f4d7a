#include "text/character_class.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>

#include "text/characters.h"

namespace roformer {

bool ClassPart::contains(char32_t c) const {
  const bool inside = (c >= first && c <= last) || (code_point_category(c) & categories) != 0 ||
                      (script >= 0 && code_point_script(c) == script) ||
                      (space && u_isUWhiteSpace(static_cast<UChar32>(c))) ||
                      (word && is_pattern_word_character(c)) || (inner && inner->contains(c));
  return inside != negated;
}

CharacterClass::CharacterClass(const std::vector<ClassPart>& parts, bool negated, bool folded)
    : negated_(negated), folded_(folded) {
  for (const ClassPart& part : parts) {
    if (part.is_range()) {
      ranges_.push_back({.first = part.first, .last = part.last});
    } else if (std::ranges::find(escapes_, part) == escapes_.end()) {
      escapes_.push_back(part);
    }
  }
  std::ranges::sort(ranges_, {}, &Range::first);
  std::size_t kept = 0;
  for (const Range& range : ranges_) {
    if (kept > 0 && range.first <= ranges_[kept - 1].last) {
      ranges_[kept - 1].last = std::max(ranges_[kept - 1].last, range.last);
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
  for (std::size_t c = 0; c < ascii_.size(); ++c) ascii_[c] = look_up(static_cast<char32_t>(c));
}

bool CharacterClass::look_up(char32_t c) const {
  if (folded_) {
    c = static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
  }
  const auto after = std::ranges::upper_bound(ranges_, c, {}, &Range::first);
  const bool inside =
      (after != ranges_.begin() && c <= std::prev(after)->last) ||
      std::ranges::any_of(escapes_, [c](const auto& part) { return part.contains(c); });
  return inside != negated_;
}

}  // namespace roformer
