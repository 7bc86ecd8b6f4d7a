
#include <unicode/uniset.h>

#include <chrono>
#include <vector>

#include "base/random.h"
#include "catch.h"
#include "text/normal_form.h"
#include "text/utf8.h"
#include "text/wordpiece_tokenizer.h"

using namespace roformer;

namespace {

const icu::Normalizer2& form_of(const char* name, UNormalization2Mode mode) {
  UErrorCode status = U_ZERO_ERROR;
  return *icu::Normalizer2::getInstance(nullptr, name, mode, status);
}

icu::UnicodeString normal(const icu::Normalizer2& form, const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  return form.normalize(text, status);
}

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("A text whose marks were ordered has the normal forms of the text") {
  // Marks of many classes, what becomes marks, and letters that take marks.
  const std::vector<UChar32> points = {0x301,  0x323,  0x327, 0x345,   0x344, 0xF73,  0xF81,
                                       0xFF9E, 0x3099, 0x5B0, 0x64B,   0x94D, 0x302E, 0x1D165,
                                       0x1DF9, 0x1DFB, 0x8D3, 0x1E2AE, 0x340, 0x343};
  const std::vector<UChar32> letters = {'a', 0xE9, 0x1E69, 0xAC00, 0x304B, 0xFB2A, 0xA8, 0x11131};
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    icu::UnicodeString text;
    for (int run = 0; run < 3; ++run) {
      text.append(letters[random.below(letters.size())]);
      const std::uint64_t length = 50 + random.below(60);
      for (std::uint64_t i = 0; i < length; ++i) text.append(points[random.below(points.size())]);
    }
    for (const char* name : {"nfc", "nfkc"}) {
      const icu::Normalizer2& decomposition = form_of(name, UNORM2_DECOMPOSE);
      const icu::UnicodeString ordered = with_ordered_marks(text, decomposition);
      CHECK(normal(decomposition, ordered) == normal(decomposition, text));
      const icu::Normalizer2& composition = form_of(name, UNORM2_COMPOSE);
      CHECK(normal(composition, ordered) == normal(composition, text));
    }
  }
  const icu::UnicodeString plain =
      u"e\u0301te\u0301 no run of marks is long here, so that nothing"
      u" of the text may be touched: \u0301\u0323\u0301\u0323";
  CHECK(with_ordered_marks(plain, form_of("nfc", UNORM2_DECOMPOSE)) == plain);
}

TEST_CASE("Every code point that becomes marks alone is known to the order of marks") {
  for (const char* name : {"nfc", "nfkc"}) {
    const icu::Normalizer2& form = form_of(name, UNORM2_DECOMPOSE);
    for (UChar32 c = 0; c < 0x110000; ++c) {
      icu::UnicodeString parts;
      const bool starts_with_mark = form.getCombiningClass(c) == 0 &&
                                    form.getDecomposition(c, parts) &&
                                    form.getCombiningClass(parts.char32At(0)) != 0;
      if (!starts_with_mark) continue;
      icu::UnicodeString text(u'a');
      for (int i = 0; i < 100; ++i) text.append(u'\u0345').append(c);
      INFO(name << " " << std::hex << c);
      CHECK(with_ordered_marks(text, form) != text);
    }
  }
}

TEST_CASE("Very many marks take no quadratic time") {
  const auto text_of = [](const std::vector<char32_t>& marks) {
    std::string text = "a";
    for (int i = 0; i < 200'000; ++i)
      append_utf8(text, marks[static_cast<std::size_t>(i) % marks.size()]);
    return text;
  };
  const auto vocabulary = make_wordpiece_tokenizer({.contents = "[UNK]\na\n", .location = "test"});
  for (const std::vector<char32_t>& marks : {std::vector<char32_t>{0x301, 0x323},
                                             {0x301},
                                             {0xF73},
                                             {0x301, 0xFF9E},
                                             {0x302E, 0x323},
                                             {0x345, 0x301, 0x323, 0x5B0}}) {
    const std::string text = text_of(marks);
    CAPTURE(static_cast<std::uint32_t>(marks[0]));
    for (const char* name : {"NFC", "NFD", "NFKC", "NFKD"}) {
      CAPTURE(name);
      CHECK(seconds_of([&] { NormalForm(name).apply(text); }) < 5);
    }
    CHECK(seconds_of([&] { vocabulary->encode(text); }) < 5);
  }
}
