// Triplets and pairs of texts: reading, augmentation, folders made of them, and the baseline.
#include "data/matching.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "data/text_pairs.h"
#include "data/triplet_maker.h"
#include "given_input.h"
#include "has.h"
#include "message_of.h"
#include "said.h"
#include "temporary_folder.h"
#include "text/wordpiece_tokenizer.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string complaint(const fs::path& folder, const std::string& text,
                      const std::string& name = "train.jsonl") {
  write(folder / name, text);
  try {
    read_matching(folder, Split::train);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string kGood = R"({"A": "a", "B": "b", "C": "c"})"
                          "\n";

}  // namespace

TEST_CASE("Triplets have the fields of CAIL2019-SCM, and the label says which is closer") {
  const TemporaryFolder folder;
  write(folder.path / "train.jsonl", kGood + "\r\n" + R"({"A":"a","B":"b","C":"c","label":"C"})");
  const MatchingExamples set = read_matching(folder.path, Split::train);
  REQUIRE(set.examples.size() == 2);
  CHECK(set.triplets);
  CHECK(set.examples[0].closer == "b");
  CHECK(set.examples[1].closer == "c");
  CHECK(set.examples[1].farther == "b");
  CHECK(set.examples[1].line == 3);
  CHECK(triplet_line(set.examples[1]) == R"({"A":"a","B":"b","C":"c","label":"C"})"
                                         "\n");
  CHECK_FALSE(has_matching_split(folder.path, Split::test));
  CHECK_THROWS_AS(read_matching(folder.path, Split::test), Error);
}

TEST_CASE("Pairs come as JSON lines or as columns") {
  const TemporaryFolder folder;
  write(folder.path / "train.jsonl", R"({"sentence1":"a","sentence2":"b","label":1})");
  write(folder.path / "test.tsv", "label\tsentence1\tsentence2\n0\ta\tb\n1\tc\td\n");
  const MatchingExamples json = read_matching(folder.path, Split::train);
  CHECK_FALSE(json.triplets);
  CHECK(json.examples[0].matches);
  const MatchingExamples columns = read_matching(folder.path, Split::test);
  REQUIRE(columns.examples.size() == 2);
  CHECK_FALSE(columns.examples[0].matches);
  CHECK(columns.examples[1].closer == "d");
}

TEST_CASE("What is no example is refused with its line") {
  const TemporaryFolder folder;
  const fs::path& path = folder.path;
  CHECK(has(complaint(path, kGood + R"({"A": "a", "B": "b"})"), "train.jsonl:2"));
  CHECK(has(complaint(path, kGood + R"({"A": "a", "B": "b"})"), "lacks \"C\""));
  CHECK(has(complaint(path, R"({"A": "a", "B": " ", "C": "c"})"), "empty text"));
  CHECK(has(complaint(path, R"({"A": "a", "B": "b", "C": "c", "label": "A"})"), "label \"A\""));
  CHECK(has(complaint(path, kGood + R"({"sentence1":"a","sentence2":"b","label":1})"), "one file"));
  CHECK(has(complaint(path, R"({"sentence1":"a","sentence2":"b"})"), "lacks \"label\""));
  CHECK(has(complaint(path, "nonsense"), "train.jsonl:1: is not JSON from column 2 on"));
  CHECK(has(complaint(path, kGood + R"({"A": "a", "A": "b", "C": "c"})"), ":2: names \"A\" twice"));
  CHECK(has(complaint(path, ""), "no example"));
  fs::remove(path / "train.jsonl");
  CHECK(has(complaint(path, "sentence1\tsentence2\tlabel\na\tb\n", "train.tsv"), "train.tsv:2"));
  CHECK(has(complaint(path, "sentence1\tsentence2\tlabel\tlabel\na\tb\t1\t0\n", "train.tsv"),
            "train.tsv:1: has two columns \"label\""));
}

TEST_CASE("Examples are read as other programs write them, packed or not, with their lines") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.jsonl";
  write(file,
        "\n"
        R"({"A": "caf\ud83d", "B": "b", "C": "c", "score": NaN})"
        "\n\n" +
            kGood + "{\n");
  CHECK(has(message_of([&] { read_matching_file(file); }), "a.jsonl:5: is not JSON"));
  MatchingExamples set;
  const std::string log =
      said([&] { set = read_matching_file(file, TextFormat::automatic, true); });
  CHECK(has(log, "1 malformed UTF-8 sequence became U+FFFD"));
  CHECK(has(log, "a.jsonl:5: is not JSON from column 2 on; it is left out"));
  REQUIRE(set.examples.size() == 2);
  CHECK(set.examples[0].anchor == "caf\xef\xbf\xbd");
  CHECK(set.examples[0].line == 2);
  CHECK(set.examples[1].line == 4);
  CHECK(set.header == 0);
  write(folder.path / "a.tsv", "\nsentence1\tsentence2\r\ncaf\xe9\tb\r\n");
  set = read_matching_file(folder.path / "a.tsv");
  CHECK(set.examples.at(0).anchor == "caf\xef\xbf\xbd");
  CHECK(set.header == 2);
  REQUIRE(std::system(("gzip " + file.string()).c_str()) == 0);
  CHECK(read_matching_file(file.string() + ".gz", TextFormat::automatic, true).examples.size() ==
        2);
  const GivenInput input(kGood);
  CHECK(read_matching_file("-").triplets);
}

TEST_CASE("Triplets are added by swapping and by transitivity, only where asked for") {
  const std::vector<MatchingExample> given = {{.anchor = "a", .closer = "b", .farther = "c"},
                                              {.anchor = "a", .closer = "c", .farther = "d"},
                                              {.anchor = "x", .closer = "b", .farther = "e"}};
  CHECK(augmented(given, {}).size() == 3);
  const auto longer = augmented(given, {.transitivity = true});
  REQUIRE(longer.size() == 4);
  CHECK(longer[3].anchor == "a");
  CHECK(longer[3].closer == "b");
  CHECK(longer[3].farther == "d");
  const auto swapped = augmented(given, {.swap = true});
  REQUIRE(swapped.size() == 6);
  CHECK(swapped[3].anchor == "b");
  CHECK(swapped[3].closer == "a");
  CHECK(swapped[3].farther == "c");
  CHECK(augmented(given, {.swap = true, .transitivity = true}).size() == 8);
  // A circle says nothing.
  const std::vector<MatchingExample> circle = {{.anchor = "a", .closer = "b", .farther = "c"},
                                               {.anchor = "a", .closer = "c", .farther = "b"}};
  CHECK(augmented(circle, {.transitivity = true}).size() == 2);
}

TEST_CASE("Published triplets are divided by A and swapped by the seed") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += triplet_line({.anchor = "a" + std::to_string(i % 40),
                           .closer = "b" + std::to_string(i),
                           .farther = "c" + std::to_string(i)});
  }
  write(folder.path / "all.jsonl", lines);
  const TripletOptions options{
      .inputs = {folder.path / "all.jsonl"}, .output = folder.path / "out", .overwrite = true};
  const TripletCounts counts = make_triplets(options);
  CHECK(counts.anchors == std::array<std::int64_t, 3>{24, 8, 8});
  CHECK(counts.triplets[0] + counts.triplets[1] + counts.triplets[2] == 100);
  CHECK(counts.swapped > 30);
  CHECK(counts.swapped < 70);
  std::set<std::string> anchors;
  std::size_t different = 0;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    std::set<std::string> own;
    for (const MatchingExample& example : read_matching(folder.path / "out", split).examples) {
      own.insert(example.anchor);
      CHECK(example.closer.starts_with('b'));
    }
    different += own.size();
    anchors.merge(own);
  }
  CHECK(anchors.size() == 40);
  CHECK(different == 40);
  const std::string first = read_file(folder.path / "out" / "train.jsonl");
  make_triplets(options);
  CHECK(read_file(folder.path / "out" / "train.jsonl") == first);
  CHECK(holds_triplets(folder.path / "out"));
}

TEST_CASE("Triplets are drawn from texts with a topic, and no text is in two sets") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += R"({"text": "t)" + std::to_string(i) + " of " + std::to_string(i % 3) +
             R"(", "casename": ")" + std::to_string(i % 3) + "\"}\n";
  }
  lines += R"({"text": "t0 of 0", "casename": "0"})"
           "\n"
           R"({"text": "alone", "casename": "9"})";
  write(folder.path / "all.jsonl", lines);
  const TripletCounts counts = make_triplets({.inputs = {folder.path / "all.jsonl"},
                                              .output = folder.path / "out",
                                              .topic_field = "casename",
                                              .per_text = 2});
  CHECK(counts.lonely == 1);
  std::map<std::string, int> set_of;
  int number = 0;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    ++number;
    for (const MatchingExample& example : read_matching(folder.path / "out", split).examples) {
      CHECK(example.anchor.back() == example.closer.back());
      CHECK(example.anchor.back() != example.farther.back());
      CHECK(example.anchor != example.closer);
      for (const std::string& text : {example.anchor, example.closer, example.farther}) {
        const auto [place, added] = set_of.emplace(text, number);
        CHECK(place->second == number);
      }
    }
  }
  write(folder.path / "label.jsonl",
        "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\", \"label\": \"c\"}\n");
  CHECK_THROWS_AS(
      make_triplets({.inputs = {folder.path / "label.jsonl"}, .output = folder.path / "bad"}),
      Error);
  write(folder.path / "bad.jsonl", "{\"text\": \"a\"}\n");
  CHECK_THROWS_AS(make_triplets({.inputs = {folder.path / "bad.jsonl"},
                                 .output = folder.path / "bad",
                                 .topic_field = "casename"}),
                  Error);
}

TEST_CASE("A bag of words compares as scikit-learn's TfidfVectorizer does") {
  // TfidfVectorizer(analyzer=str.split).fit(["1 2 3", "2 3", "3 4 4"]); cosine of these two.
  const BagOfWords words({{1, 2, 3}, {2, 3}, {3, 4, 4}});
  CHECK(words.cosine({1, 2, 2}, {2, 3}) == Approx(0.659956).margin(1e-6));
  CHECK(words.cosine({1, 2}, {4}) == 0);
  CHECK(words.cosine({9}, {9}) == 0);
}

TEST_CASE("A long text keeps its head, its tail, or half of each, and is counted") {
  const auto tokenizer = make_wordpiece_tokenizer(
      {.contents = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n1\n2\n3\n4\n5\n6\n", .location = "test"});
  const auto ids = [&](TextTruncation truncation) {
    const EncodedText text = encode_text(*tokenizer, "1 2 3 4 5 6", "1", 8, truncation);
    CHECK(text.cut);
    CHECK(text.longest == 6);
    CHECK(text.length() == 8);
    return tokenizer->decode(std::vector<TokenId>(text.ids.begin() + 1, text.ids.begin() + 5));
  };
  CHECK(ids(TextTruncation::head) == "1 2 3 4");
  CHECK(ids(TextTruncation::tail) == "3 4 5 6");
  CHECK(ids(TextTruncation::head_and_tail) == "1 2 5 6");
}
