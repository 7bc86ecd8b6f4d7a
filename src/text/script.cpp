#include "text/script.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace roformer {

LanguageScript::LanguageScript(const std::string& language) {
  if (language.empty()) return;
  std::array<UScriptCode, 8> found{};
  UErrorCode error = U_ZERO_ERROR;
  const std::int32_t count = uscript_getCode(language.c_str(), found.data(), found.size(), &error);
  if (U_FAILURE(error)) return;
  scripts_.assign(found.begin(), found.begin() + std::min<std::int32_t>(count, found.size()));
}

double LanguageScript::share(std::string_view text) const {
  std::int64_t letters = 0;
  std::int64_t right = 0;
  for (std::size_t position = 0; position < text.size();) {
    const auto c = static_cast<UChar32>(next_code_point(text, position));
    if (!u_isalpha(c)) continue;
    ++letters;
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(c, &error);
    right += script == USCRIPT_COMMON || script == USCRIPT_INHERITED ||
             std::ranges::find(scripts_, script) != scripts_.end();
  }
  return letters == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(letters);
}

}  // namespace roformer
