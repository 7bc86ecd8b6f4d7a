// Replacements of a tokenizer.json where a pattern matches no characters; the results are those of
// Hugging Face's tokenizers 0.23: normalizers.Replace(Regex(pattern), "-").normalize_str(text).
#include "text/text_replacement.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace roformer;

TEST_CASE("a pattern of lookaround alone replaces places between characters") {
  const auto replaced = [](const char* pattern, const char* text) {
    const nlohmann::json step = {
        {"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", "-"}};
    return TextReplacement(JsonFields(step, "file")).apply(text);
  };
  CHECK(replaced("(?<=a)(?=b)", "abab a b") == "a-ba-b a b");
  CHECK(replaced("x*", "axxb") == "-a-b-");
  CHECK(replaced("x*", "xx") == "-");
  CHECK(replaced("x*", "") == "");
  CHECK(replaced("x*", "bxx") == "-b-");
  CHECK(replaced("(?<=a)", "aa") == "a-a-");
  CHECK(replaced("(?<=a)", "a\u0301a") == "a-\u0301a-");
  CHECK(replaced("(?=b)", "bb") == "-b-b");
  CHECK(replaced("a|(?=b)", "bab") == "-b-b");
  CHECK(replaced("a|(?=b)", "aab") == "--b");
  CHECK(replaced("\\A +| +(?= )", "  a   b ") == "-a- b ");
  CHECK(replaced(" +\\z", " a  ") == " a-");
  CHECK(replaced("\\A", "ab") == "-ab");
  CHECK(replaced("\\z", "ab") == "ab-");
}
