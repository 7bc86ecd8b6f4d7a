#include "data/sentence_pairs.h"

#include "catch.h"
#include "pair_fixture.h"

using namespace roformer;

namespace {

const PairLanguages kLanguages{.source = "en", .target = "de"};

}  // namespace

TEST_CASE("Sentences are made clean before anything looks at them") {
  std::uint64_t replaced = 0;
  CHECK(clean_sentence("  a\tb\r\nc \n", replaced) == "a b  c");
  CHECK(replaced == 0);
  CHECK(clean_sentence("a\xff", replaced) == "a\xef\xbf\xbd");
  CHECK(replaced == 1);
  CHECK(clean_sentence(std::string("a\0b", 3), replaced) == "a b");
  CHECK(clean_sentence(" \n ", replaced).empty());
  CHECK(count_words(" one  two\tthree ") == 3);
  CHECK(count_words("") == 0);
}

TEST_CASE("Each rule removes what it says, and the first one broken counts") {
  PairTextRules rules({.shortest_words = 2,
                       .longest_words = 4,
                       .remove_identical = true,
                       .remove_duplicates = true,
                       .script_share = 0.5},
                      kLanguages);
  CHECK(rules.broken_by("", "zwei Worte") == PairRule::empty);
  CHECK(rules.broken_by("two words", "") == PairRule::empty);
  CHECK(rules.broken_by("word", "zwei Worte") == PairRule::too_short);
  CHECK(rules.broken_by("two words", "ein zwei drei vier") == std::nullopt);
  CHECK(rules.broken_by("two words", "ein zwei drei vier fünf") == PairRule::too_long);
  CHECK(rules.broken_by("the same", "the same") == PairRule::identical);
  CHECK(rules.broken_by("два слова", "zwei Worte") == PairRule::wrong_script);
  CHECK(rules.broken_by("two words", "два слова") == PairRule::wrong_script);
  CHECK(rules.broken_by("1 2", "3 4") == std::nullopt);  // no letters, no wrong ones
  CHECK(rules.broken_by("half два", "zwei Worte") == std::nullopt);
  CHECK(rules.broken_by("two words", "ein zwei drei vier") == PairRule::duplicate);
  CHECK(rules.broken_by("two words", "ein zwei drei") == std::nullopt);  // another pair
}

TEST_CASE("Without rules only empty sides are removed") {
  PairTextRules rules({.shortest_words = 0}, {.source = "xx", .target = "nobody knows"});
  CHECK(rules.broken_by("same", "same") == std::nullopt);
  CHECK(rules.broken_by("same", "same") == std::nullopt);
  CHECK(rules.broken_by("", "same") == PairRule::empty);
  CHECK(error_of([] {
          PairTextRules({.script_share = 0.5}, {.source = "en", .target = "xx"});
        }).find("the script of language 'xx' is not known") != std::string::npos);
}

TEST_CASE("The rules about pieces look at both sides") {
  const PairRules rules{.longest_pieces = 10, .length_ratio = 1.5};
  CHECK(broken_by_pieces(rules, 10, 10) == std::nullopt);
  CHECK(broken_by_pieces(rules, 11, 10) == PairRule::too_many_pieces);
  CHECK(broken_by_pieces(rules, 9, 11) == PairRule::too_many_pieces);
  CHECK(broken_by_pieces(rules, 6, 9) == std::nullopt);
  CHECK(broken_by_pieces(rules, 6, 10) == PairRule::length_ratio);
  CHECK(broken_by_pieces(rules, 10, 6) == PairRule::length_ratio);
  CHECK(broken_by_pieces({}, 1000, 1) == std::nullopt);
  CHECK(broken_by_pieces({}, 0, 1) == PairRule::empty);
}

TEST_CASE("Scripts come with the language's code") {
  CHECK(LanguageScript("zh").share("中文") == 1);
  CHECK(LanguageScript("zh").share("latin") == 0);
  CHECK(LanguageScript("zh-cn").known());
  CHECK(LanguageScript("ja").share("漢字とカタカナ") == 1);
  CHECK(LanguageScript("ru").share("да no") == 0.5);
  CHECK(LanguageScript("de").share("12 % …") == 1);
  CHECK_FALSE(LanguageScript("").known());
  CHECK_FALSE(LanguageScript("english").known());
}
