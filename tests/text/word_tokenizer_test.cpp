// Chinese words against jieba and transformers' RoFormerTokenizer; the fixtures are made by
// make_word_fixtures.py.
#include "text/word_tokenizer.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "catch.h"
#include "has.h"
#include "temporary_folder.h"
#include "text/utf8.h"

namespace roformer {
namespace {

const std::filesystem::path kWordFixtures = FIXTURES;

WordFiles fixture_files() {
  return {.vocabulary = read_file(kWordFixtures / "word_vocab.txt"),
          .vocabulary_location = "vocab.txt",
          .dictionary = read_file(kWordFixtures / "word_dictionary.txt"),
          .dictionary_location = "dict.txt"};
}

std::unique_ptr<Tokenizer> open_words(bool cased, bool characters = false) {
  WordFiles files = fixture_files();
  files.cased = cased;
  files.characters = characters;
  return make_word_tokenizer(word_model(files), "fixture");
}

std::vector<std::string> words_of(const WordDictionary& dictionary, std::string_view text) {
  std::vector<std::size_t> ends;
  dictionary.cut(text, ends);
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// jieba takes a line end of two characters as one.
std::vector<std::string> expected_words(const nlohmann::json& words) {
  std::vector<std::string> result;
  for (const auto& word : words) {
    if (word == "\r\n") {
      result.insert(result.end(), {"\r", "\n"});
    } else {
      result.push_back(word);
    }
  }
  return result;
}

std::string message_from(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Texts are cut into the words that jieba finds without its model of unknown words") {
  const WordDictionary dictionary(read_file(kWordFixtures / "word_dictionary.txt"), "dict.txt");
  CHECK(dictionary.words() == 365);
  for (const auto& item : read_json(kWordFixtures / "word_cases.json")) {
    CAPTURE(item["text"]);
    CHECK(words_of(dictionary, item["text"].get<std::string>()) == expected_words(item["words"]));
  }
}

TEST_CASE("Words and their pieces have the ids of RoFormerTokenizer") {
  const auto uncased = open_words(false), cased = open_words(true);
  CHECK(uncased->description() == "words uncased");
  CHECK(uncased->kind() == TokenizerKind::words);
  CHECK(uncased->piece(uncased->special().mask) == "[MASK]");
  std::size_t compared = 0;
  for (const auto& item : read_json(kWordFixtures / "word_cases.json")) {
    if (!item.contains("uncased")) continue;
    const auto text = item["text"].get<std::string>();
    CAPTURE(text);
    CHECK(uncased->encode(text) == item["uncased"].get<std::vector<TokenId>>());
    CHECK(cased->encode(text) == item["cased"].get<std::vector<TokenId>>());
    ++compared;
  }
  CHECK(compared > 50);
  CHECK(uncased->decode(uncased->encode("我来到北京清华大学。base版 transformer")) ==
        "我来到北京清华大学。base版transformer");
}

TEST_CASE("Malformed text is repaired and counted, and no text is a special token") {
  const auto tokenizer = open_words(false);
  for (const TokenId id : tokenizer->encode("[CLS]中国[MASK]\xff\xe4\xb8")) {
    CHECK((!tokenizer->is_special(id) || id == tokenizer->special().unknown));
  }
  CHECK(tokenizer->invalid_sequences() == 2);
}

TEST_CASE("The dictionary says which characters are a word, whole in the vocabulary or not") {
  const auto words = open_words(false), characters = open_words(false, true);
  CHECK(characters->description() == "words uncased, one character a piece");
  // As the text is cut: 我 来到 北京 清华大学
  const std::vector<TokenId> ids = characters->encode("我来到北京清华大学。");
  std::vector<char> begins;
  characters->find_words(ids, begins);
  CHECK(begins == std::vector<char>{1, 1, 0, 1, 0, 1, 0, 0, 0, 1});
  // 杭 and 研 are words of one character, 交换机 is not in the vocabulary and stays one word.
  const std::vector<TokenId> mixed = words->encode("杭研交换机");
  words->find_words(mixed, begins);
  std::vector<char> expected = {1, 1, 1, 0, 0};
  if (mixed.size() == 3) expected = {1, 1, 1};
  CHECK(begins == expected);
  // Letters continue as in WordPiece.
  words->find_words(words->encode("transformer"), begins);
  CHECK(begins.front() == 1);
  CHECK(std::count(begins.begin(), begins.end(), 1) == 1);
}

TEST_CASE("A word tokenizer is one file, which is found by its contents") {
  const TemporaryFolder folder;
  const auto tokenizer = open_words(true);
  save_tokenizer(*tokenizer, folder.path / "kept");
  CHECK(holds_only_tokenizer(folder.path / "kept"));
  const auto again = load_tokenizer(folder.path / "kept");
  CHECK(again->fingerprint() == tokenizer->fingerprint());
  CHECK(again->description() == "words cased");
  CHECK(open_tokenizer({.file = folder.path / "kept" / "words.json"})->kind() ==
        TokenizerKind::words);
  CHECK(open_tokenizer({.file = kWordFixtures / "word_vocab.txt",
                        .cased = true,
                        .dictionary = kWordFixtures / "word_dictionary.txt"})
            ->fingerprint() == tokenizer->fingerprint());
  CHECK(word_files(*again).vocabulary == fixture_files().vocabulary);
  // One changed count is another tokenizer.
  std::string contents = read_file(folder.path / "kept" / "words.json");
  contents.replace(contents.find("北京 "), 7, "北京 9");
  write_file_atomically(folder.path / "kept" / "words.json", contents);
  CHECK(has(message_from([&] { load_tokenizer(folder.path / "kept"); }), "does not belong"));
}

TEST_CASE("Dictionaries that are none are refused with the line") {
  const auto complaint = [](const std::string& lines) {
    return message_from([&] { WordDictionary(lines, "dict.txt"); });
  };
  CHECK(has(complaint("北京 3 ns\n来到\n"), "dict.txt:2"));
  CHECK(has(complaint("北京 3 ns\n来到 v\n"), "dict.txt:2"));
  CHECK(has(complaint("北京 -3\n"), "dict.txt:1"));
  CHECK(has(complaint("北京 3x\n"), "dict.txt:1"));
  CHECK(has(complaint("北\xff 3\n"), "dict.txt:1"));
  CHECK(has(complaint("\n\n"), "no word"));
  CHECK(complaint("\xEF\xBB\xBF北京 3 ns\r\n\n来到 4\r\n").empty());
  WordFiles files = fixture_files();
  files.vocabulary = "北京\n";
  CHECK(has(message_from([&] { word_model(files); }), "vocab.txt"));
  CHECK(has(message_from([] {
              make_word_tokenizer(R"({"format":"roformer words","version":1})", "words.json");
            }),
            "has no field vocabulary"));
}

TEST_CASE("A vocabulary is counted from words and their characters") {
  const WordDictionary dictionary("北京 10\n大学 8\n清华大学 3\n", "dict.txt");
  WordCounter counter(dictionary, false);
  counter.add("北京 大学 北京Abc");
  counter.add("北京清华大学");
  const std::string vocabulary = counter.vocabulary(100);
  CHECK(vocabulary.starts_with("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"));
  CHECK(has(vocabulary, "\n北京\n"));
  CHECK(has(vocabulary, "\n清华大学\n"));
  CHECK(has(vocabulary, "\nabc\n"));
  CHECK(has(vocabulary, "\n##b\n"));
  CHECK(has(vocabulary, "\n华\n"));
  // Three times each: 京, 北, 北京.
  CHECK(counter.vocabulary(8) == "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n京\n北\n北京\n");
  CHECK_THROWS_AS(WordCounter(dictionary, false).vocabulary(100), Error);
}

TEST_CASE("Text of a million characters without an end of a word is cut") {
  const WordDictionary dictionary("北京 10\n", "dict.txt");
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "北京";
  std::vector<std::size_t> ends;
  dictionary.cut(text, ends);
  CHECK(ends.size() == 500'000);
}

}  // namespace roformer
