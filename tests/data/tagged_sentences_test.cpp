// Sentences of tagged words from CoNLL, JSON Lines and plain text, and the schemes of their tags.
#include "data/tagged_sentences.h"

#include <fstream>

#include "base/error.h"
#include "catch.h"
#include "data/tag_scheme.h"
#include "has.h"
#include "message_of.h"
#include "temporary_folder.h"

using namespace roformer;
using WordList = std::vector<std::string>;

namespace {

struct TaggedFile {
  TemporaryFolder folder;

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path / name, std::ios::binary) << text;
    return folder.path / name;
  }
};

std::vector<TaggedLines> all_of(const std::filesystem::path& file,
                                TaggedReader::Options options = {}) {
  TaggedReader reader(file, std::move(options));
  std::vector<TaggedLines> all;
  for (TaggedLines lines; reader.next(lines);) all.push_back(lines);
  return all;
}

std::string reading_problem(const std::filesystem::path& file,
                            const TaggedReader::Options& options = {}) {
  return message_of([&] { all_of(file, options); });
}

}  // namespace

TEST_CASE("blank lines and -DOCSTART- end the sentences of a CoNLL file") {
  const TaggedFile files;
  const std::string separator = GENERATE(" ", "\t", "  ");
  const auto row = [&](const std::string& word, const std::string& tag) {
    return word + separator + "NN" + separator + tag + "\r\n";
  };
  const auto file = files.write(
      "train.txt", "-DOCSTART- -X- O\n\n" + row("EU", "B-ORG") + row("rejects", "O") + "  \n\n" +
                       row("Peter", "B-PER") + "-DOCSTART- -X- O\n" + row("1996", "O"));
  const auto sentences = all_of(file);
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[0].sentence.words == WordList{"EU", "rejects"});
  CHECK(sentences[0].sentence.tags == WordList{"B-ORG", "O"});
  CHECK(sentences[0].sentence.line == 3);
  CHECK(sentences[1].sentence.words == WordList{"Peter"});
  CHECK(sentences[2].sentence.tags == WordList{"O"});
  // Its lines come back in their order.
  CHECK(sentences[0].lines.size() == 4);
  CHECK(sentences[0].lines[0].text == "-DOCSTART- -X- O");
  CHECK(sentences[1].lines[0].text.empty());
  CHECK(sentences[1].lines.back().is_word);
  CHECK(sentences[0].separator == (separator == "\t" ? '\t' : ' '));

  const auto parts = all_of(file, {.tokens = "1", .tags = "2"});
  CHECK(parts[0].sentence.tags == WordList{"NN", "NN"});
}

TEST_CASE("columns have names in the first line, and CoNLL-U has its own") {
  const TaggedFile files;
  const auto named = files.write("ner.tsv", "id\tword\ttag\n1\tNew York\tB-LOC\n\n2\tis\tO\n");
  const auto sentences = all_of(named, {.tokens = "word", .tags = "tag"});
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0].sentence.words == WordList{"New York"});
  CHECK(sentences[1].sentence.tags == WordList{"O"});
  CHECK(has(reading_problem(named, {.tokens = "wort", .tags = "tag"}),
            "tagging.tokens: " + named.string() + " has no column \"wort\""));
  CHECK(has(reading_problem(named, {.tags = "4"}), "it has 3 columns"));

  const auto treebank = files.write(
      "en.conllu", "# text = vámonos\n1-2\tvámonos\t_\t_\n1\tvamos\tir\tVERB\n2\tnos\tyo\tPRON\n");
  CHECK(all_of(treebank)[0].sentence.words == WordList{"vamos", "nos"});
  CHECK(all_of(treebank)[0].sentence.tags == WordList{"VERB", "PRON"});
}

TEST_CASE("a CoNLL file that cannot be read is refused by line") {
  const TaggedFile files;
  const auto problem = [&](const std::string& text) {
    return reading_problem(files.write("bad.conll", text));
  };
  CHECK(has(problem("EU\nrejects\n"), "bad.conll:1: has 1 column, wanted a word and its tag"));
  CHECK(has(problem("EU O\nNew York B-LOC\n"), "bad.conll:2: has 3 columns, the lines before 2"));
  CHECK(has(problem("EU\tO\nNew\t\n"), "bad.conll:2: has an empty tag"));
  CHECK(all_of(files.write("empty.conll", "")).empty());
}

TEST_CASE("JSON Lines have lists of words and of tags, by name or by number") {
  const TaggedFile files;
  const auto file =
      files.write("train.jsonl", R"({"id": 7, "tokens": ["EU", "rejects"], "ner_tags": [3, 0]})"
                                 "\n"
                                 R"({"tokens": [], "ner_tags": []})"
                                 "\n");
  const auto sentences = all_of(file, {.classes = {"O", "B-PER", "I-PER", "B-ORG"}});
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0].sentence.tags == WordList{"B-ORG", "O"});
  CHECK(sentences[0].object["id"] == 7);
  CHECK(sentences[1].sentence.words.empty());
  CHECK(has(reading_problem(file), "train.jsonl:1 has numbers as tags, and their names are not"));
  CHECK(has(reading_problem(file, {.classes = {"O"}}), ":1: has the tag 3, wanted 0 to 0"));
  CHECK(has(reading_problem(file, {.tags = "pos"}), "has no \"pos\""));
  const auto problem = [&](const std::string& text) {
    return reading_problem(files.write("bad.jsonl", text));
  };
  CHECK(has(problem(R"({"tokens": ["a", "b"], "tags": ["O"]})"), "has 2 words and 1 tag"));
  CHECK(has(problem(R"({"tokens": "a b", "tags": ["O"]})"), "has no list \"tokens\": it is"));
  CHECK(has(problem(R"({"tokens": ["a"], "tags": [null]})"), "has the tag null"));
  CHECK(has(problem("{\n"), "bad.jsonl:1: is not JSON"));
}

TEST_CASE("sentences to predict are told from CoNLL by their first line") {
  const TaggedFile files;
  const TaggedReader::Options options{.classes = {"O", "B-KEY"}, .labelled = false};
  const auto read = [&](const std::string& name, const std::string& text) {
    return all_of(files.write(name, text), options);
  };
  const auto plain = read("plain.txt", "Press Ctrl + F .\n\nDone\n");
  REQUIRE(plain.size() == 3);
  CHECK(plain[0].sentence.words == WordList{"Press", "Ctrl", "+", "F", "."});
  CHECK(plain[1].sentence.words.empty());
  CHECK(plain[2].sentence.words == WordList{"Done"});
  for (const std::string text : {"Press\tO\nCtrl\tB-KEY\n", "Press O\nCtrl B-KEY\n"}) {
    const auto columns = read("columns.txt", text);
    REQUIRE(columns.size() == 1);
    CHECK(columns[0].sentence.words == WordList{"Press", "Ctrl"});
    CHECK(columns[0].sentence.tags.empty());
  }
  const TaggedReader::Options named{.tokens = "word", .labelled = false};
  CHECK(all_of(files.write("a.conll", "id\tword\n1\tCtrl\n"), named)[0].sentence.words ==
        WordList{"Ctrl"});
  CHECK(all_of(files.write("a.conll", "Ctrl\tx\n"), named)[0].sentence.words == WordList{"Ctrl"});
  CHECK(read("words.conll", "Press\nCtrl\n\n")[0].sentence.words == WordList{"Press", "Ctrl"});
  CHECK(read("objects", "{\"words\": [\"Press\"]}\n")[0].sentence.words == WordList{"Press"});
}

TEST_CASE("the tags tell their scheme") {
  const auto scheme = [](const WordList& tags) {
    return scheme_of(tags, TagScheme::automatic, "train.conll");
  };
  CHECK(scheme({"O", "B-PER", "I-PER"}) == TagScheme::bio);
  CHECK(scheme({"O", "I-PER"}) == TagScheme::bio);
  CHECK(scheme({"O", "B", "I"}) == TagScheme::bio);
  CHECK(scheme({"O", "B-PER", "I-PER", "E-PER", "S-LOC"}) == TagScheme::bioes);
  CHECK(scheme({"NOUN", "VERB", "X"}) == TagScheme::plain);
  CHECK(scheme({"O", "menu"}) == TagScheme::plain);
  const auto problem = [&](const WordList& tags, TagScheme wanted) {
    return message_of([&] { scheme_of(tags, wanted, "train.conll"); });
  };
  CHECK(has(problem({"O", "B-PER", "PER"}, TagScheme::automatic),
            "train.conll: mixes tag schemes: \"PER\" beside B- or I-"));
  CHECK(has(problem({"O", "B-PER", "L-PER", "U-PER"}, TagScheme::automatic), "write E- for L-"));
  CHECK(has(problem({"O", "S-PER"}, TagScheme::bio), "tagging.scheme: is bio, and train.conll"));
  CHECK(ordered_tags({"I-B", "O", "B-A", "O", "B-B"}) == WordList{"O", "B-A", "B-B", "I-B"});
}

TEST_CASE("IOB1 becomes BIO, and sequences that break a scheme are found") {
  WordList tags = {"I-A", "I-A", "B-A", "O", "I-B", "I-A"};
  CHECK(count_beginnings(tags).all == 4);
  CHECK(count_beginnings(tags).inside == 3);
  CHECK(is_broken(tags, TagScheme::bio));
  mark_beginnings(tags);
  CHECK(tags == WordList{"B-A", "I-A", "B-A", "O", "B-B", "B-A"});
  CHECK(!is_broken(tags, TagScheme::bio));
  CHECK(!is_broken({"B-A", "I-A", "E-A", "S-A", "O"}, TagScheme::bioes));
  for (const WordList& broken :
       {WordList{"B-A", "O"}, WordList{"B-A", "E-B"}, WordList{"I-A"}, WordList{"B-A", "I-A"}}) {
    CHECK(is_broken(broken, TagScheme::bioes));
  }
  CHECK(!is_broken({"I-A"}, TagScheme::plain));
}
