#include "text/text_normalization.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "text/characters.h"
#include "text/growing_text.h"
#include "text/normal_form.h"
#include "text/normalization_map.h"
#include "text/text_replacement.h"
#include "text/utf8.h"

namespace roformer {
namespace {
namespace normalizers {

constexpr std::size_t kMostSteps = 64;

using Step = std::function<void(NormalText&)>;

Step normal_form(const JsonFields& step) {
  return [form = NormalForm(step.text("type"))](NormalText& text) {
    text.text = form.apply(text.text);
  };
}

Step replace(const JsonFields& step) {
  const auto rule = std::make_shared<const TextReplacement>(step);
  return [rule](NormalText& text) { text.text = rule->apply(text.text); };
}

Step prepend(const JsonFields& step) {
  return [prefix = short_text(step, "prepend")](NormalText& text) {
    if (!text.text.empty()) text.text.insert(0, prefix);
  };
}

// Calls action(code point, its bytes) for each code point.
template <class Action>
void for_each_point(std::string_view text, Action action) {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t begin = position;
    const char32_t c = next_code_point(text, position);
    action(c, text.substr(begin, position - begin));
  }
}

// Capital letters that Unicode 16 and 17 added, and how far their small ones are.
char32_t small_letter_of_later_unicode(char32_t c) {
  struct Pairs {
    char32_t first, last, small;
  };
  static constexpr Pairs kPairs[] = {{0x1C89, 0x1C89, 0x1C8A},    {0xA7CB, 0xA7CB, 0x264},
                                     {0xA7CC, 0xA7CC, 0xA7CD},    {0xA7CE, 0xA7CE, 0xA7CF},
                                     {0xA7D2, 0xA7D2, 0xA7D3},    {0xA7D4, 0xA7D4, 0xA7D5},
                                     {0xA7DA, 0xA7DA, 0xA7DB},    {0xA7DC, 0xA7DC, 0x19B},
                                     {0x10D50, 0x10D65, 0x10D70}, {0x16EA0, 0x16EB8, 0x16EBB}};
  for (const Pairs& pairs : kPairs) {
    if (c >= pairs.first && c <= pairs.last) return pairs.small + (c - pairs.first);
  }
  return c;
}

// Each code point separately, without a rule for a final sigma.
std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_point(text, [&](char32_t c, std::string_view bytes) {
    if (c < 128) {
      result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
    } else if (u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CHANGES_WHEN_LOWERCASED)) {
      icu::UnicodeString(static_cast<UChar32>(c))
          .toLower(icu::Locale::getRoot())
          .toUTF8String(result);
    } else if (const char32_t small = small_letter_of_later_unicode(c); small != c) {
      append_utf8(result, small);
    } else {
      result += bytes;
    }
  });
  return result;
}

Step lowercase(const JsonFields&) {
  return [](NormalText& text) { text.text = lower_case(text.text); };
}

// Removes the code points for which removed(code point) is true.
template <class Removed>
void filter(NormalText& text, Removed removed) {
  std::string result;
  result.reserve(text.text.size());
  bool first = true;
  for_each_point(text.text, [&](char32_t c, std::string_view bytes) {
    const bool gone = removed(c);
    if (!gone) result += bytes;
    if (first && gone) text.from_start = false;
    first = false;
  });
  text.text = std::move(result);
}

Step strip_accents(const JsonFields&) {
  return [](NormalText& text) { filter(text, is_mark_of_unicode_9); };
}

Step strip(const JsonFields& step) {
  const bool left = step.flag("strip_left", true), right = step.flag("strip_right", true);
  return [left, right](NormalText& text) {
    const auto is_white = [&](std::size_t at) {
      return u_isUWhiteSpace(static_cast<UChar32>(next_code_point(text.text, at)));
    };
    std::size_t end = text.text.size(), begin = 0;
    while (right && end > 0 && is_white(character_before(text.text, end))) {
      end = character_before(text.text, end);
    }
    while (left && begin < end && is_white(begin)) next_code_point(text.text, begin);
    text.from_start = text.from_start && begin == 0;
    text.text = text.text.substr(begin, end - begin);
  };
}

// The white space and the control characters of NMT's normalisation (Google's "nmt" rules).
bool is_nmt_control(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}
bool is_nmt_space(char32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
         c == 0xFFFD;
}
Step nmt(const JsonFields&) {
  return [](NormalText& text) {
    filter(text, is_nmt_control);
    std::string result;
    for_each_point(text.text, [&](char32_t c, std::string_view bytes) {
      result += is_nmt_space(c) ? std::string_view(" ") : bytes;
    });
    text.text = std::move(result);
  };
}

// The table, and the rules that point into it.
struct PrecompiledRules {
  std::string table;
  std::optional<NormalizationMap> map;
};
Step precompiled(const JsonFields& step) {
  const std::optional<std::string> table = decode_base64(step.text("precompiled_charsmap", ""));
  if (table && table->empty()) return [](NormalText&) {};
  const auto rules = std::make_shared<PrecompiledRules>();
  if (table) {
    rules->table = *table;
    rules->map = NormalizationMap::of(rules->table);
  }
  if (!rules->map || !rules->map->is_safe()) {
    step.refuse("precompiled_charsmap", "SentencePiece's rules of normalisation, whole");
  }
  return [rules](NormalText& text) { text.text = rules->map->apply(text.text); };
}

}  // namespace normalizers
}  // namespace

TextNormalization::TextNormalization(const JsonFields& file) {
  if (file.find("normalizer") != nullptr) read_step(file.object("normalizer"));
}

void TextNormalization::read_step(const JsonFields& step) {
  using namespace normalizers;
  using Maker = Step (*)(const JsonFields&);
  const Maker make = step.word<Maker>("type", {{"Sequence", nullptr},
                                               {"NFC", normal_form},
                                               {"NFD", normal_form},
                                               {"NFKC", normal_form},
                                               {"NFKD", normal_form},
                                               {"Lowercase", lowercase},
                                               {"StripAccents", strip_accents},
                                               {"Strip", strip},
                                               {"Replace", replace},
                                               {"Prepend", prepend},
                                               {"Nmt", nmt},
                                               {"Precompiled", precompiled}});
  if (make != nullptr) {
    if (steps_.size() == kMostSteps) {
      step.refuse("type", fmt::format("at most {} normalizers", kMostSteps));
    }
    steps_.push_back(make(step));
    return;
  }
  for (const JsonFields& part : step.objects("normalizers")) read_step(part);
}

NormalText TextNormalization::apply(NormalText text) const {
  const std::size_t original = text.text.size();
  for (const Step& step : steps_) {
    step(text);
    GrowingText(original).append(text.text);
  }
  return text;
}

}  // namespace roformer
