// WordPiece against Hugging Face's `tokenizers`; the fixtures are made by
// make_wordpiece_fixtures.py.
#include "text/wordpiece_tokenizer.h"

#include <unicode/uchar.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "text/bert_normalization.h"
#include "text/utf8.h"

namespace roformer {
namespace {

const std::filesystem::path kWordPieceFixtures = FIXTURES;
using Role = BertNormalization::Role;

std::unique_ptr<Tokenizer> open_fixture(bool cased) {
  return make_wordpiece_tokenizer(
      {.contents = read_file(kWordPieceFixtures / "wordpiece_vocab.txt"),
       .cased = cased,
       .location = "fixture"});
}

std::string text_of_hexadecimal(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// Lower case is that of a Unicode which may be newer than ICU's.
bool is_known(UChar32 c) {
  UVersionInfo since;
  u_charAge(c, since);
  return since[0] > 0;
}

char letter_of(Role role) {
  switch (role) {
    case Role::letter:
      return 'l';
    case Role::space:
      return 's';
    case Role::punctuation:
      return 'p';
    case Role::dropped:
      return 'd';
    case Role::plain:
      break;
  }
  return '?';
}

}  // namespace

TEST_CASE("WordPiece yields the reference's ids on hard and random text") {
  const auto cases = nlohmann::json::parse(read_file(kWordPieceFixtures / "wordpiece_cases.json"));
  REQUIRE(cases.size() > 150);
  for (const bool cased : {false, true}) {
    const auto tokenizer = open_fixture(cased);
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second time from the cache
      for (const auto& entry : cases) {
        const std::string text = text_of_hexadecimal(entry["bytes"].get<std::string>());
        INFO((cased ? "cased " : "uncased ") << entry["bytes"]);
        CHECK(tokenizer->encode(text) ==
              entry[cased ? "cased" : "uncased"].get<std::vector<TokenId>>());
      }
    }
  }
}

TEST_CASE("Every code point has the reference's role, whatever the version of ICU") {
  std::ifstream file(kWordPieceFixtures / "code_point_roles.txt");
  std::string first_text, last_text, roles;
  std::vector<std::string> wrong;
  std::int64_t compared = 0;
  while (file >> first_text >> last_text >> roles) {
    const auto first = static_cast<char32_t>(std::stoul(first_text, nullptr, 16));
    const auto last = static_cast<char32_t>(std::stoul(last_text, nullptr, 16));
    for (char32_t c = first; c <= last; ++c) {
      const Role cased = BertNormalization::cased().entry(c).role;
      const Role uncased = BertNormalization::uncased().entry(c).role;
      ++compared;
      const bool same = letter_of(cased) == roles[0] &&
                        (uncased == Role::plain || letter_of(uncased) == roles[1]);
      if (!same) {
        std::ostringstream line;
        line << std::hex << "U+" << static_cast<std::uint32_t>(c) << " wanted " << roles << " got "
             << letter_of(cased) << letter_of(uncased);
        wrong.push_back(line.str());
      }
    }
  }
  CHECK(compared == 0x110000 - 0x800);
  CAPTURE(wrong);
  CHECK(wrong.empty());
}

TEST_CASE("Every code point is lower-cased and stripped as in the reference") {
  std::map<char32_t, std::string> expected;
  std::ifstream file(kWordPieceFixtures / "code_point_uncased.txt");
  std::string point, written;
  while (file >> point >> written) {
    expected[static_cast<char32_t>(std::stoul(point, nullptr, 16))] = text_of_hexadecimal(written);
  }
  REQUIRE(expected.size() > 2000);
  const BertNormalization& table = BertNormalization::uncased();
  std::vector<std::string> wrong;
  for (char32_t c = 0; c < 0x30000; ++c) {
    if ((c >= 0xD800 && c < 0xE000) || (c >= 0xAC00 && c <= 0xD7A3)) continue;  // Hangul: cases
    const BertNormalization::Entry& entry = table.entry(c);
    if (entry.role != Role::letter && entry.role != Role::punctuation) continue;
    std::string original;
    append_utf8(original, c);
    const auto found = expected.find(c);
    const std::string& wanted = found == expected.end() ? original : found->second;
    if (table.written(entry, original) != wanted && is_known(static_cast<UChar32>(c))) {
      wrong.push_back(original + " wanted " + wanted);
    }
  }
  CAPTURE(wrong);
  CHECK(wrong.empty());
}

TEST_CASE("Special tokens of a WordPiece vocabulary never come from text") {
  const auto tokenizer = open_fixture(true);
  for (const char* text : {"[MASK]", "a [CLS] b", "[UNK]", "[PAD][SEP]"}) {
    for (const TokenId id : tokenizer->encode(text)) {
      CHECK((!tokenizer->is_special(id) || id == tokenizer->special().unknown));
    }
  }
  CHECK(tokenizer->special().mask == 5);
}

TEST_CASE("WordPiece counts malformed UTF-8 and knows where words begin") {
  const auto tokenizer = open_fixture(false);
  CHECK(tokenizer->invalid_sequences() == 0);
  tokenizer->encode("a\xff\xfe b\xe4\xb8 c");
  CHECK(tokenizer->invalid_sequences() == 3);
  const std::vector<TokenId> ids = tokenizer->encode("unaffable");
  REQUIRE(ids.size() == 3);
  CHECK(tokenizer->begins_word(ids[0]));
  CHECK_FALSE(tokenizer->begins_word(ids[1]));
  CHECK(tokenizer->decode(ids) == "unaffable");
  CHECK(tokenizer->decode(std::vector<TokenId>{3, ids[0], ids[1], 5, 4}) == "unaff");
  CHECK(tokenizer->decode(std::vector<TokenId>{3, ids[0], 5, 4}, true) == "[CLS] un [MASK] [SEP]");
}

TEST_CASE("A file that is no WordPiece vocabulary is refused") {
  const auto open = [](std::string contents) {
    return make_wordpiece_tokenizer(
        {.contents = std::move(contents), .cased = false, .location = "vocab.txt"});
  };
  CHECK_THROWS_AS(open(""), Error);
  CHECK_THROWS_AS(open("a\nb\n"), Error);
  CHECK_THROWS_AS(open(std::string("[UNK]\n\0", 7)), Error);
  CHECK_THROWS_AS(open("[UNK]\n\xff\n"), Error);
  CHECK(open("[UNK]\r\na\r\n")->encode("a b") == std::vector<TokenId>{1, 0});
}

}  // namespace roformer
