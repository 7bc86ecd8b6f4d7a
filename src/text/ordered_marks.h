// Unicode's canonical order of combining marks, for texts in which very many follow each other. ICU
// puts each mark in its place among those before it, which takes quadratic time where somebody has
// written a hundred thousand of them in the wrong order.
#pragma once

#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

namespace roformer {

// A text that is equivalent to `text`, and in which long runs of marks are in the order that
// `decomposition`, a normaliser to NFD or NFKD, gives them. Texts without such a run stay as they
// are.
icu::UnicodeString with_ordered_marks(const icu::UnicodeString& text,
                                      const icu::Normalizer2& decomposition);

}  // namespace roformer
