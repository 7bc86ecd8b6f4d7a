// The tables of SentencePiece's models that its library follows without looking.
#include "text/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "catch.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"

using namespace roformer;

namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  return bytes + static_cast<char>(value);
}

std::string field(std::uint64_t number, const std::string& contents) {
  return varint(number << 3 | 2) + varint(contents.size()) + contents;
}

// A trie of one block, and the texts after it. No letter leads to a unit that was left as it is.
struct Map {
  std::array<std::uint32_t, 256> units;
  std::string texts{'x', '\0'};

  Map() { units.fill(1u << 31); }
  std::string bytes() const {
    std::string result(sizeof(std::uint32_t) + sizeof units, '\0');
    const auto size = static_cast<std::uint32_t>(sizeof units);
    std::memcpy(result.data(), &size, sizeof size);
    std::memcpy(result.data() + sizeof size, units.data(), sizeof units);
    return result + texts;
  }
  bool is_safe() const { return has_safe_normalization(field(3, field(2, bytes()))); }
};

// A unit of Darts-clone: where its children are from here, its letter, and whether a value is
// there.
constexpr std::uint32_t unit(std::uint32_t offset, unsigned char letter, bool leaf) {
  return offset << 10 | (leaf ? 1u << 8 : 0u) | letter;
}

// "a" becomes text number `value`: the root's children are at 1 ^ letter, its value at 2.
Map one_rule(std::uint32_t value) {
  Map map;
  map.units[0] = unit(1, 0, false);
  map.units[1 ^ 'a'] = unit((1 ^ 'a') ^ 2, 'a', true);
  map.units[2] = 1u << 31 | value;
  return map;
}

// " ," becomes `text`.
Map rule_over_a_space(const std::string& text) {
  Map map;
  constexpr std::uint32_t space = 1 ^ ' ', comma = 64 ^ ',';
  map.units[0] = unit(1, 0, false);
  map.units[space] = unit(space ^ 64, ' ', false);
  map.units[comma] = unit(comma ^ 2, ',', true);
  map.units[2] = 1u << 31;
  map.texts = text + '\0';
  return map;
}

// " " becomes `text`.
Map rule_of_a_space(const std::string& text) {
  Map map;
  constexpr std::uint32_t space = 1 ^ ' ';
  map.units[0] = unit(1, 0, false);
  map.units[space] = unit(space ^ 2, ' ', true);
  map.units[2] = 1u << 31;
  map.texts = text + '\0';
  return map;
}

bool reaches_over_spaces(const Map& map) {
  return normalization_reaches_over_spaces(field(3, field(2, map.bytes())));
}

}  // namespace

TEST_CASE("models without rules, and with rules that stay inside, are safe") {
  CHECK(has_safe_normalization(""));
  CHECK(has_safe_normalization(field(1, "a piece")));
  CHECK(has_safe_normalization(field(3, field(1, "identity"))));
  CHECK(has_safe_normalization(field(3, field(2, ""))));
  CHECK(one_rule(0).is_safe());
  CHECK(one_rule(1).is_safe());
  // The library's own rules.
  for (const char* const rules : {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"}) {
    INFO(rules);
    const std::string model = train_sentencepiece(std::vector<std::string>(20, "abc abc ab c cab"),
                                                  {.pieces = 12, .normalization = rules});
    CHECK((model.size() > 100'000) == (std::string(rules) != "identity"));
    CHECK(has_safe_normalization(model));
    CHECK_FALSE(normalization_reaches_over_spaces(model));
  }
}

TEST_CASE("a rule that reaches over a space is told from one that does not") {
  CHECK_FALSE(normalization_reaches_over_spaces(""));
  CHECK_FALSE(normalization_reaches_over_spaces(field(3, field(2, ""))));
  CHECK_FALSE(reaches_over_spaces(one_rule(0)));
  CHECK_FALSE(reaches_over_spaces(rule_of_a_space(" ")));
  CHECK(reaches_over_spaces(rule_of_a_space("  ")));
  CHECK(reaches_over_spaces(rule_of_a_space("x")));
  CHECK(reaches_over_spaces(rule_over_a_space(",")));
  Map marker = one_rule(0);
  marker.texts = std::string("\xE2\x96\x81") + '\0';
  CHECK(reaches_over_spaces(marker));
  // The map of a denormaliser is not that of texts that are encoded.
  CHECK_FALSE(
      normalization_reaches_over_spaces(field(5, field(2, rule_over_a_space(",").bytes()))));
}

TEST_CASE("texts are not cut at spaces that a rule of their model reaches over") {
  const std::string trained =
      train_sentencepiece(std::vector<std::string>(20, "abc, abc , ab c, cab"), {.pieces = 13});
  for (const std::string text : {",", " ;", ""}) {
    // A later field of a message takes the place of an earlier one.
    const std::string model = trained + field(3, field(2, rule_over_a_space(text).bytes()));
    sentencepiece::SentencePieceProcessor library;
    REQUIRE(library.LoadFromSerializedProto(model).ok());
    const auto tokenizer = make_sentencepiece_tokenizer(model, "rules");
    for (const char* line : {"abc , cab", " , abc", "ab c ,", "abc  ,  , cab", "ab c"}) {
      CAPTURE(text, line);
      CHECK(tokenizer->encode(line) == library.EncodeAsIds(line));
    }
  }
}

TEST_CASE("rules that lead outside of their table or in a circle are refused") {
  Map map = one_rule(0);
  SECTION("a text after the last one") {
    map = one_rule(2);
  }
  SECTION("texts without an end") {
    map.texts = "x";
  }
  SECTION("no texts") {
    map.texts.clear();
  }
  SECTION("children outside of the table") {
    map.units[0] = unit(1 << 8, 0, false);
  }
  SECTION("a value outside of the table") {
    map.units[1 ^ 'a'] = unit(1 << 20, 'a', true);
  }
  SECTION("a unit that is its own child") {
    map.units[1 ^ 'a'] = unit('a', 'a', true);  // from itself its children are at 1 again
  }
  CHECK_FALSE(map.is_safe());
}

TEST_CASE("more matches than the library keeps are refused") {
  // A chain of units, each a match; letter k leads from one to the next.
  const auto chain = [](int matches) {
    Map map;
    std::uint32_t base = 1;
    map.units[0] = unit(base, 0, false);
    for (int k = 0; k < matches; ++k) {
      const auto next = static_cast<std::uint32_t>(2 * k + 3);
      const std::uint32_t at = next + 1;
      map.units[at] = unit(at ^ next, static_cast<unsigned char>(at ^ base), true);
      base = next;
    }
    return map;
  };
  CHECK(chain(32).is_safe());
  CHECK_FALSE(chain(33).is_safe());
}

TEST_CASE("damage of a model's messages is left to the library") {
  const std::string whole = field(3, field(2, one_rule(2).bytes()));
  CHECK_FALSE(has_safe_normalization(whole));
  CHECK(has_safe_normalization(whole.substr(0, whole.size() - 1)));
  CHECK_FALSE(has_safe_normalization(varint(1 << 3) + varint(300) + whole));
  CHECK_FALSE(has_safe_normalization(field(5, field(2, one_rule(2).bytes()))));
  // Sizes that are no whole numbers of units.
  CHECK_FALSE(has_safe_normalization(field(3, field(2, "abc"))));
  CHECK_FALSE(has_safe_normalization(field(3, field(2, std::string("\x03\0\0\0abcd", 8)))));
}
