// Unicode's normal forms as Hugging Face's tokenizers apply them: those of Unicode 9, so that code
// points of later versions stay as they are.
#pragma once

#include <unicode/normalizer2.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>

#include <string>
#include <string_view>

namespace roformer {

class NormalForm {
 public:
  // "NFC", "NFD", "NFKC" or "NFKD".
  explicit NormalForm(const std::string& name);

  std::string apply(std::string_view text) const;  // of valid UTF-8
  icu::UnicodeString apply(const icu::UnicodeString& text) const;
  bool changes_nothing_of(char32_t c) const { return normalizer_.isInert(static_cast<UChar32>(c)); }

 private:
  icu::FilteredNormalizer2 normalizer_, decomposition_;
};

// An equivalent text in which long runs of combining marks are in Unicode's canonical order, as
// `decomposition` (a normaliser to NFD or NFKD) orders them. Other texts stay unchanged.
icu::UnicodeString with_ordered_marks(const icu::UnicodeString& text,
                                      const icu::Normalizer2& decomposition);

}  // namespace roformer
