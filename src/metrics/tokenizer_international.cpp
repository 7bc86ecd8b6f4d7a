#include <unicode/uchar.h>

#include "metrics/bleu_tokenizers.h"
#include "metrics/code_points.h"
#include "metrics/substitute.h"

namespace roformer {
namespace {

bool is_of(char32_t c, std::uint32_t categories) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & categories) != 0;
}

bool is_no_number(char32_t c) {
  return !is_of(c, U_GC_N_MASK);
}

bool is_unicode_punctuation(char32_t c) {
  return is_of(c, U_GC_P_MASK);
}

bool is_unicode_symbol(char32_t c) {
  return is_of(c, U_GC_S_MASK);
}

}  // namespace

std::string tokenize_international(std::string_view line) {
  std::u32string text = to_code_points(line);
  text = substitute(text, PadSecond(), is_no_number, is_unicode_punctuation);
  text = substitute(text, PadFirst(), is_unicode_punctuation, is_no_number);
  return to_utf8(pad(text, is_unicode_symbol));
}

}  // namespace roformer
