// Byte-pair encoding against the package subword-nmt; the cases are made by
// make_subword_fixtures.py.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/subword_tokenizer.h"

using namespace roformer;

namespace {

nlohmann::json fixture() {
  return nlohmann::json::parse(read_file(std::filesystem::path(FIXTURES) / "subword_cases.json"));
}

SubwordFiles files_of(const nlohmann::json& one) {
  return {.codes = one["codes"],
          .codes_location = "codes",
          .vocabulary = one["vocabulary"],
          .vocabulary_location = "vocabulary",
          .threshold = one["threshold"]};
}

std::unique_ptr<Tokenizer> small_tokenizer(const std::string& codes,
                                           const std::string& vocabulary) {
  return make_subword_tokenizer(subword_model({.codes = codes,
                                               .codes_location = "codes.txt",
                                               .vocabulary = vocabulary,
                                               .vocabulary_location = "vocab.txt"}),
                                "model");
}

std::string failure(const std::string& codes, const std::string& vocabulary) {
  try {
    small_tokenizer(codes, vocabulary);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("Subwords are split as subword-nmt splits them, with both versions and thresholds") {
  const nlohmann::json reference = fixture();
  REQUIRE(reference["cases"].size() == 6);
  for (const auto& one : reference["cases"]) {
    const auto tokenizer = make_subword_tokenizer(subword_model(files_of(one)), "model");
    for (std::size_t i = 0; i < reference["sentences"].size(); ++i) {
      const std::string sentence = reference["sentences"][i];
      // Pieces that the vocabulary lacks have no text of their own here.
      std::vector<std::string> wanted;
      for (const std::string& piece : one["pieces"][i]) {
        const bool known = ("\n" + one["vocabulary"].get<std::string>()).find("\n" + piece + " ") !=
                           std::string::npos;
        wanted.push_back(known ? piece : "[UNK]");
      }
      std::vector<std::string> pieces;
      for (const TokenId id : tokenizer->encode(sentence)) pieces.push_back(tokenizer->piece(id));
      CAPTURE(one["threshold"].get<int>(), sentence);
      if (one["threshold"] == 0) {
        CHECK(pieces == wanted);
      } else {
        // A piece below the threshold that cannot be split is unknown, too.
        REQUIRE(pieces.size() == wanted.size());
        for (std::size_t k = 0; k < pieces.size(); ++k) {
          if (pieces[k] != "[UNK]") CHECK(pieces[k] == wanted[k]);
        }
      }
    }
  }
}

TEST_CASE("The merges alone give the very pieces of subword-nmt, in the vocabulary or not") {
  const nlohmann::json reference = fixture();
  for (const auto& one : reference["cases"]) {
    const nlohmann::json model = nlohmann::json::parse(subword_model(files_of(one)));
    std::vector<std::pair<std::string, std::string>> merges;
    for (const std::string& merge : model["merges"]) {
      const std::size_t space = merge.find(' ');
      merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
    }
    std::vector<std::string> vocabulary = model["pieces"];
    const SubwordMerges splitter(
        merges, model["word_end"] == "attached" ? WordEnd::attached : WordEnd::separate);
    const auto text_of = [](const SubwordPiece& piece) {
      return std::string(piece.text) + (piece.ends_word ? "" : "@@");
    };
    const auto known = [&](const SubwordPiece& piece) {
      return std::ranges::find(vocabulary, text_of(piece)) != vocabulary.end();
    };
    for (std::size_t i = 0; i < reference["sentences"].size(); ++i) {
      std::istringstream words(reference["sentences"][i].get<std::string>());
      std::vector<std::string> pieces;
      for (std::string word; std::getline(words, word, ' ');) {
        for (const SubwordPiece& piece : splitter.split(word, known)) {
          pieces.push_back(text_of(piece));
        }
      }
      CAPTURE(one["threshold"].get<int>(), reference["sentences"][i].get<std::string>());
      CHECK(pieces == one["pieces"][i].get<std::vector<std::string>>());
    }
  }
}

TEST_CASE("fastBPE's codes mean what version 0.2 of subword-nmt means") {
  const std::string vocabulary = "low 5\nlo@@ 4\nw 3\nl@@ 2\no@@ 1\n";
  const auto attached = small_tokenizer("#version: 0.2\nl o\nlo w</w>\n", vocabulary);
  const auto fast = small_tokenizer("l o 17\nlo w</w> 9\n", vocabulary);
  const auto separate = small_tokenizer("l o\nlo w</w>\n", vocabulary);
  CHECK(fast->encode("low lo") == attached->encode("low lo"));
  CHECK(fast->decode(fast->encode("low")) == "low");
  CHECK(fast->encode("low").size() == 1);
  CHECK(separate->encode("low").size() == 2);  // no merge of "w" with the end of a word
}

TEST_CASE("A subword model is saved with a folder and decodes to the tokenised text") {
  const TemporaryFolder folder;
  const auto tokenizer =
      small_tokenizer("#version: 0.2\nl o\ne r</w>\n", "lo@@ 5\nw@@ 4\ner 3\nw 2\n, 2\n");
  save_tokenizer(*tokenizer, folder.path);
  const auto loaded = load_tokenizer(folder.path);
  CHECK(loaded->kind() == TokenizerKind::subwords);
  CHECK(loaded->fingerprint() == tokenizer->fingerprint());
  CHECK(loaded->vocabulary_size() == 9);
  const std::vector<TokenId> ids = loaded->encode("lower , low");
  CHECK(ids == std::vector<TokenId>{4, 5, 6, 8, 4, 7});
  CHECK(loaded->decode(ids) == "lower , low");
  CHECK(loaded->decode(std::vector<TokenId>{2, 4, 7, 3}, true) == "[CLS] low [SEP]");
  CHECK(loaded->decode(loaded->encode("zzz low")) == "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd low");
  CHECK(loaded
            ->encode("a\xff\xfe"
                     "b")
            .size() == 4);
  CHECK(loaded->invalid_sequences() == 2);
  CHECK(open_tokenizer({.file = folder.path / "subwords.json"})->fingerprint() ==
        tokenizer->fingerprint());
}

TEST_CASE("A word of any length is split") {
  const auto tokenizer = small_tokenizer("#version: 0.2\na b\n", "ab@@ 5\nab 2\na@@ 1\nb 1\n");
  std::string word;
  for (int i = 0; i < 50'000; ++i) word += "ab";
  CHECK(tokenizer->encode(word).size() > 49'000);
  CHECK(tokenizer->decode(tokenizer->encode(word)) == word);
}

TEST_CASE("Wrong codes and vocabularies are named by file and line") {
  CHECK(failure("#version: 0.3\na b\n", "a 1\n").starts_with("codes.txt:1: has version 0.3"));
  CHECK(failure("a b\na\n", "a 1\n").starts_with("codes.txt:2: \"a\" is no merge"));
  CHECK(failure("a b\na b 3\n", "a 1\n").starts_with("codes.txt:2: "));
  CHECK(failure("a b 3\na b\n", "a 1\n").starts_with("codes.txt:2: "));
  CHECK(failure("", "a 1\n").starts_with("codes.txt: holds no merges"));
  CHECK(failure("a \xff\n", "a 1\n").starts_with("codes.txt:1: is not valid UTF-8"));
  CHECK(failure("a b\n", "a 1\nb\n").starts_with("vocab.txt:2: \"b\" is no entry"));
  CHECK(failure("a b\n", "a 1\nb 2\na 3\n").starts_with("vocab.txt:3: \"a\" is in line 1"));
  CHECK(failure("a b\n", "\n").starts_with("vocab.txt: holds no pieces"));
}
