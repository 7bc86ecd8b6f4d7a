#include "text/normal_form.h"

#include <unicode/bytestream.h>
#include <unicode/stringpiece.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "text/utf8.h"

namespace roformer {
namespace {

const icu::Normalizer2& normalizer_named(const std::string& name, bool composes) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const normalizer =
      icu::Normalizer2::getInstance(nullptr, name.find('K') == std::string::npos ? "nfc" : "nfkc",
                                    composes ? UNORM2_COMPOSE : UNORM2_DECOMPOSE, status);
  ROFORMER_ASSERT(U_SUCCESS(status));
  return *normalizer;
}

const icu::UnicodeSet& code_points_of_unicode_9() {
  static const icu::UnicodeSet set = [] {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet known(u"[:age=9.0:]", status);
    ROFORMER_ASSERT(U_SUCCESS(status));
    known.freeze();
    return known;
  }();
  return set;
}

}  // namespace

NormalForm::NormalForm(const std::string& name)
    : normalizer_(normalizer_named(name, name.back() == 'C'), code_points_of_unicode_9()),
      decomposition_(normalizer_named(name, false), code_points_of_unicode_9()) {}

icu::UnicodeString NormalForm::apply(const icu::UnicodeString& text) const {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2& normalizer = normalizer_;
  icu::UnicodeString normal =
      normalizer.normalize(with_ordered_marks(text, decomposition_), status);
  if (U_FAILURE(status)) throw_failure("tokenizer", "a text is too long to be normalised");
  return normal;
}

std::string NormalForm::apply(std::string_view text) const {
  if (is_ascii(text)) return std::string(text);
  std::string result;
  apply(icu::UnicodeString::fromUTF8(
            icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size()))))
      .toUTF8String(result);
  return result;
}

namespace {

// ICU moves each mark to its place among the earlier ones, which takes quadratic time if a text has
// a hundred thousand marks in the wrong order. ICU handles runs shorter than this limit faster than
// a sort.
constexpr std::int32_t kLongRun = 64;

struct Mark {
  std::uint8_t combining_class = 0;
  UChar32 code_point = 0;
};

// Code points that are no marks themselves but decompose into marks only.
bool may_become_marks(UChar32 c) {
  return c == 0x0F73 || c == 0x0F75 || c == 0x0F81 || c == 0xFF9E || c == 0xFF9F;
}

// Appends the code point's decomposition if it consists of marks; else returns false.
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
