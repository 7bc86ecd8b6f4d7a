#include "tasks/language/generated_text.h"

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "catch.h"
#include "text/byte_level_tokenizer.h"
#include "text/hugging_face_json.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"

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
  // In any order: the one that ends first, and of those the one that begins first.
  CHECK(shown("", "xPRK", {"RK", "PRK"}) == Parts{"", "x", "", "", "", ""});
  CHECK(shown("", "xPRK", {"PRK", "RK"}) == Parts{"", "x", "", "", "", ""});
  // A prompt is shown whole, and is no part of the search, whatever it ends with.
  CHECK(shown("END\xef\xbf\xbd", "a", {"END"}) == Parts{"END\xef\xbf\xbd", "a", ""});
}

TEST_CASE("a stop text before the first bytes of a character is found") {
  const auto bytes = make_byte_tokenizer();
  auto document = nlohmann::json::parse(hugging_face_json(*bytes, {}).contents);
  document["model"]["vocab"]["-\u00c3"] = bytes->vocabulary_size();  // U+00C3 stands for that byte
  document["model"]["merges"].push_back("- \u00c3");
  const auto tokenizer = make_byte_level_tokenizer(document.dump(), "test");
  const std::vector<std::string> stops = {"-"};
  GeneratedText text(*tokenizer, {}, stops);
  CHECK(text.add(tokenizer->vocabulary_size() - 1).empty());
  CHECK(text.has_stopped());
  CHECK(text.end().empty());
}

TEST_CASE("the parts of a text are the text, whatever blanks its tokens have") {
  std::vector<std::string> sentences(50, "the cat  sat on a mat");
  sentences.emplace_back("a b c d e f g h");
  const auto tokenizer =
      make_sentencepiece_tokenizer(train_sentencepiece(sentences, {.pieces = 20}), "test");
  const std::vector<std::string> stops;
  Random random(1);
  for (int sample = 0; sample < 200; ++sample) {
    GeneratedText text(*tokenizer, {}, stops);
    std::string parts = text.begin();
    std::vector<TokenId> ids;
    for (int i = 0; i < 12; ++i) {
      ids.push_back(static_cast<TokenId>(
          5 + random.below(static_cast<std::uint64_t>(tokenizer->vocabulary_size() - 5))));
      parts += text.add(ids.back());
    }
    CHECK(parts + text.end() == tokenizer->decode(ids));
  }
}

}  // namespace roformer
