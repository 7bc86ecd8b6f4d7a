// Words as pieces, and long sentences in windows that give every word one place.
#include "tasks/tagging/word_windows.h"

#include <fstream>
#include <set>

#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

// Pieces a to d; "abc" has three.
std::unique_ptr<Tokenizer> letters() {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "vocab.txt")
      << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n##a\n##b\n##c\n##d\n";
  return open_tokenizer({.kind = TokenizerKind::wordpiece, .file = folder.path / "vocab.txt"});
}

std::string pieces_of(const Tokenizer& tokenizer, const WordWindow& window) {
  std::string text;
  for (const TokenId id : window.text.ids) text += tokenizer.piece(id) + " ";
  return text;
}

}  // namespace

TEST_CASE("the first piece represents a word, and a word without pieces has one too") {
  const auto tokenizer = letters();
  const WordEncoder encoder(*tokenizer, 16);
  const auto windows = encoder.windows({"abc", "\x01", "d", "z"});
  REQUIRE(windows.size() == 1);
  CHECK(pieces_of(*tokenizer, windows[0]) == "[CLS] a ##b ##c [UNK] d [UNK] [SEP] ");
  CHECK(windows[0].places == std::vector<std::int64_t>{1, 4, 5, 6});
  CHECK(windows[0].words == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a training sentence is cut after the last word that fits") {
  const auto tokenizer = letters();
  const WordEncoder encoder(*tokenizer, 6);
  const WordWindow cut = encoder.beginning({"ab", "c", "dd", "a"});
  CHECK(pieces_of(*tokenizer, cut) == "[CLS] a ##b c [SEP] ");
  CHECK(cut.text.cut);
  CHECK(cut.words.size() == 2);
  const WordWindow whole = encoder.beginning({"ab", "cd"});
  CHECK(!whole.text.cut);
  const WordWindow long_word = encoder.beginning({"abcdabcd", "a"});
  CHECK(pieces_of(*tokenizer, long_word) == "[CLS] a ##b ##c ##d [SEP] ");
}

TEST_CASE("windows give every word one place, far from the cuts") {
  const auto tokenizer = letters();
  const std::int64_t length = GENERATE(3, 4, 6, 11, 40);
  const std::int64_t count = GENERATE(1, 2, 9, 50);
  CAPTURE(length, count);
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < count; ++i) {
    words.emplace_back(std::string("abcd").substr(0, static_cast<std::size_t>(1 + i * i % 4)));
  }
  const WordEncoder encoder(*tokenizer, length);
  std::multiset<std::int64_t> seen;
  for (const WordWindow& window : encoder.windows(words)) {
    CHECK(window.text.length() <= length);
    REQUIRE(window.places.size() == window.words.size());
    for (std::size_t i = 0; i < window.words.size(); ++i) {
      seen.insert(window.words[i]);
      CHECK(tokenizer->piece(window.text.ids[static_cast<std::size_t>(window.places[i])]) == "a");
    }
  }
  CHECK(std::ssize(seen) == count);
  CHECK(*seen.rbegin() == count - 1);
  CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == seen.size());
}

TEST_CASE("a word in the middle of a long sentence has neighbours on both sides") {
  const auto tokenizer = letters();
  const std::vector<std::string> words(30, "a");
  for (const WordWindow& window : WordEncoder(*tokenizer, 12).windows(words)) {
    for (std::size_t i = 0; i < window.words.size(); ++i) {
      const std::int64_t word = window.words[i], place = window.places[i];
      CHECK((word < 10 || place > 2));
      CHECK((word >= 20 || window.text.length() - 1 - place > 2));
    }
  }
}
