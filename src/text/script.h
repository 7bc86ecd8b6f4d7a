// The scripts that a language is written in, and how much of a text is written in them: what tells
// a sentence of the wrong language in the crudest and surest way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

class LanguageScript {
 public:
  // A language's code, "de", "zh", "pt-br", "sr-latn"; Unicode's data (CLDR) say its scripts.
  explicit LanguageScript(const std::string& language);

  // False where the code is no language that the data know.
  bool known() const { return !scripts_.empty(); }
  // Share of the letters of valid UTF-8 that are of the language's scripts; letters that many
  // scripts share count as such. 1 for a text without letters.
  double share(std::string_view text) const;

 private:
  std::vector<std::int32_t> scripts_;
};

}  // namespace roformer
