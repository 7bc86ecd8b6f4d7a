#include "tasks/language/generated_text.h"

#include "catch.h"
#include "text/byte_level_tokenizer.h"
#include "text/hugging_face_json.h"
#include "text/plain_tokenizers.h"

namespace roformer {
namespace {

// What is shown after the prompt, after each byte of `added`, and at the end.
std::vector<std::string> shown(const std::string& prompt, const std::string& added,
                               const std::vector<std::string>& stops) {
  const auto bytes = make_byte_tokenizer();
  // It decodes what is no whole character as U+FFFD, and has the same ids.
  const auto tokenizer = make_byte_level_tokenizer(hugging_face_json(*bytes, {}).contents, "test");
  const auto ids = [](const std::string& text) {
    std::vector<std::int64_t> bytes;
    for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
  };
  GeneratedText text(*tokenizer, ids(prompt), stops);
  std::vector<std::string> parts = {text.begin()};
  for (const std::int64_t id : ids(added)) {
    if (!text.has_stopped()) parts.push_back(text.add(id));
  }
  parts.push_back(text.end());
  return parts;
}

using Parts = std::vector<std::string>;

}  // namespace

TEST_CASE("a text grows by whole characters") {
  CHECK(shown("ab", "c\xc3\xa9", {}) == Parts{"ab", "c", "", "\xc3\xa9", ""});
  CHECK(shown("", "c\xc3", {}) == Parts{"", "c", "", "\xef\xbf\xbd"});
}

TEST_CASE("a text ends before a stop text, whose beginning is held back") {
  CHECK(shown("", "a--b", {"--"}) == Parts{"", "a", "", "", ""});
  CHECK(shown("", "a-b", {"--"}) == Parts{"", "a", "", "-b", ""});
  CHECK(shown("", "a-", {"--"}) == Parts{"", "a", "", "-"});
  CHECK(shown("", "aabaac", {"aac"}) == Parts{"", "", "", "aab", "", "", "", ""});
  // The first of several, and not what the prompt holds.
  CHECK(shown("END", "xyEND", {"END", "y"}) == Parts{"END", "x", "", ""});
  CHECK(shown("EN", "D", {"END"}) == Parts{"EN", "D", ""});
  CHECK(shown("", "a\xc3\xa9z", {"\xc3\xa9"}) == Parts{"", "a", "", "", ""});
}

}  // namespace roformer
