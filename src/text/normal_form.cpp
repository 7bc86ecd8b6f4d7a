#include "text/normal_form.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>

#include "base/error.h"
#include "text/ordered_marks.h"
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

icu::UnicodeSet code_points_of_unicode_9() {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet set(icu::UnicodeString(u"[:age=9.0:]"), status);
  ROFORMER_ASSERT(U_SUCCESS(status));
  set.freeze();
  return set;
}

}  // namespace

struct NormalForm::Parts {
  icu::UnicodeSet known;
  icu::FilteredNormalizer2 normalizer, decomposition;

  explicit Parts(const std::string& name)
      : known(code_points_of_unicode_9()),
        normalizer(normalizer_named(name, name.back() == 'C'), known),
        decomposition(normalizer_named(name, false), known) {}
};

NormalForm::NormalForm(const std::string& name) : parts_(std::make_unique<Parts>(name)) {}
NormalForm::~NormalForm() = default;
NormalForm::NormalForm(NormalForm&&) noexcept = default;
NormalForm& NormalForm::operator=(NormalForm&&) noexcept = default;

std::string NormalForm::apply(std::string_view text) const {
  if (is_ascii(text)) return std::string(text);
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2& normalizer = parts_->normalizer;
  const auto written = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  const icu::UnicodeString normal =
      normalizer.normalize(with_ordered_marks(written, parts_->decomposition), status);
  if (U_FAILURE(status)) throw_failure("tokenizer", "a text is too long to be normalised");
  std::string result;
  normal.toUTF8String(result);
  return result;
}

}  // namespace roformer
