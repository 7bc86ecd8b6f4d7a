#include "text/bert_normalization.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>

#include <array>
#include <memory>
#include <mutex>

#include "text/normal_form.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr char32_t kCodePoints = 0x110000;
constexpr char32_t kReplacementCharacter = 0xFFFD;
constexpr std::uint32_t kControl = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK;
constexpr std::uint8_t kVersion = 8;  // of Unicode, of the reference's categories
using Role = BertNormalization::Role;

// The general category in the tables of Hugging Face's normalizer, which are those of Unicode 8: a
// mask of U_GC_... with one bit. Later code points are unassigned there, whatever ICU's version,
// and a few have changed their category since.
std::uint32_t category(char32_t c) {
  struct Changed {
    char32_t code_point;
    std::uint32_t category;
  };
  static constexpr Changed kChanged[] = {{0x166D, U_GC_PO_MASK}, {0x111C9, U_GC_PO_MASK},
                                         {0x1734, U_GC_MN_MASK}, {0x1885, U_GC_LO_MASK},
                                         {0x1886, U_GC_LO_MASK}, {0xA9BD, U_GC_MC_MASK}};
  for (const Changed& changed : kChanged) {
    if (changed.code_point == c) return changed.category;
  }
  const std::uint32_t mask = U_GET_GC_MASK(static_cast<UChar32>(c));
  if ((mask & (kControl | U_GC_P_MASK | U_GC_MN_MASK)) == 0) return mask;  // nobody asks for it
  UVersionInfo since;
  u_charAge(static_cast<UChar32>(c), since);
  return since[0] > kVersion ? U_GC_CN_MASK : mask;
}

// Unassigned code points stay: they may be letters of a later Unicode version.
bool is_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return (category(c) & kControl) != 0;
}

bool is_removed(char32_t c) {
  return c == 0 || c == kReplacementCharacter || is_control(c);
}

bool is_bert_space(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

bool is_nonspacing_mark(char32_t c) {
  return category(c) == U_GC_MN_MASK;
}

// The blocks of CJK ideographs around which BERT puts spaces.
bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

const NormalForm& canonical_decomposition() {
  static const NormalForm form("NFD");
  return form;
}

template <typename Action>
void for_each_code_point(const icu::UnicodeString& text, Action action) {
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    action(static_cast<char32_t>(text.char32At(i)));
  }
}

// Applied after cleaning. Each code point becomes lower case separately, without a rule for a final
// sigma.
icu::UnicodeString by_rules(const icu::UnicodeString& text, const BertRules& rules) {
  if (!rules.lower_case && !rules.strip_accents) return text;
  icu::UnicodeString result;
  for_each_code_point(
      rules.strip_accents ? canonical_decomposition().apply(text) : text, [&](char32_t c) {
        if (rules.strip_accents && is_nonspacing_mark(c)) return;
        icu::UnicodeString part(static_cast<UChar32>(c));
        result.append(rules.lower_case ? part.toLower(icu::Locale::getRoot()) : part);
      });
  return result;
}

bool is_unchanged(char32_t code_point, const BertRules& rules) {
  const auto c = static_cast<UChar32>(code_point);
  if (rules.strip_accents && (!canonical_decomposition().changes_nothing_of(code_point) ||
                              is_nonspacing_mark(code_point))) {
    return false;
  }
  return !rules.lower_case || !u_hasBinaryProperty(c, UCHAR_CHANGES_WHEN_LOWERCASED);
}

// How a code point that survived cleaning acts when words are split.
Role role_in_words(char32_t c) {
  if (is_bert_space(c)) return Role::space;
  return is_bert_punctuation(c) ? Role::punctuation : Role::letter;
}

}  // namespace

bool is_bert_punctuation(char32_t c) {
  const bool ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
                     (c >= 123 && c <= 126);
  return ascii || (category(c) & U_GC_P_MASK) != 0;
}

BertNormalization::BertNormalization(const BertRules& rules)
    : rules_(rules), entries_(kCodePoints) {
  for (char32_t c = 0; c < kCodePoints; ++c) {
    Entry& entry = entries_[c];
    if (is_removed(c)) {
      entry.role = Role::dropped;
    } else if (is_bert_space(c)) {
      entry.role = Role::space;
    } else {
      if (is_unchanged(c, rules)) {
        entry.role = role_in_words(c);
      } else {
        add_replacement(c, entry);
      }
      if (rules.chinese_characters && is_cjk_ideograph(c)) entry.role = Role::punctuation;
    }
  }
}

void BertNormalization::add_replacement(char32_t c, Entry& entry) {
  const icu::UnicodeString whole = static_cast<UChar32>(c);
  bool reordered = false;
  if (rules_.strip_accents) {
    for_each_code_point(canonical_decomposition().apply(whole), [&](char32_t part) {
      reordered |=
          u_getCombiningClass(static_cast<UChar32>(part)) != 0 && !is_nonspacing_mark(part);
    });
  }
  const icu::UnicodeString text = by_rules(whole, rules_);
  entry.role = text.isEmpty() ? Role::dropped : Role::letter;
  for_each_code_point(text, [&](char32_t part) {
    if (role_in_words(part) == Role::letter) return;
    if (text.countChar32() == 1) {
      entry.role = role_in_words(part);
    } else {
      reordered = true;
    }
  });
  if (reordered) entry.role = Role::plain;
  entry.offset = static_cast<std::uint32_t>(replacements_.size());
  text.toUTF8String(replacements_);
  entry.length = static_cast<std::uint8_t>(replacements_.size() - entry.offset);
}

const BertNormalization& BertNormalization::of(const BertRules& rules) {
  static std::array<std::unique_ptr<const BertNormalization>, 8> tables;
  static std::array<std::once_flag, 8> made;
  const std::size_t which = (rules.lower_case ? 4 : 0) + (rules.strip_accents ? 2 : 0) +
                            (rules.chinese_characters ? 1 : 0);
  std::call_once(made[which], [&] { tables[which].reset(new BertNormalization(rules)); });
  return *tables[which];
}

std::string BertNormalization::normalized(std::string_view text) const {
  icu::UnicodeString cleaned;
  for (std::size_t position = 0; position < text.size();) {
    const char32_t c = next_code_point(text, position);
    if (is_removed(c)) continue;
    if (is_bert_space(c)) {
      cleaned.append(u' ');
    } else if (rules_.chinese_characters && is_cjk_ideograph(c)) {
      cleaned.append(u' ').append(static_cast<UChar32>(c)).append(u' ');
    } else {
      cleaned.append(static_cast<UChar32>(c));
    }
  }
  std::string result;
  by_rules(cleaned, rules_).toUTF8String(result);
  return result;
}

std::vector<std::string> BertNormalization::plain_words(std::string_view text) const {
  std::vector<std::string> words;
  const std::string whole = normalized(text);
  bool open = false;
  for (std::size_t position = 0; position < whole.size();) {
    const char32_t c = next_code_point(whole, position);
    const Role role = role_in_words(c);
    if (role != Role::space) {
      if (role == Role::punctuation || !open) words.emplace_back();
      append_utf8(words.back(), c);
    }
    open = role == Role::letter;
  }
  return words;
}

}  // namespace roformer
