// Texts of a user's own, in the forms that people have them.
#include "data/text_lines.h"

#include "base/error.h"
#include "catch.h"
#include "fixture.h"
#include "given_input.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

// "first|second" of each line, "-" for one without a text, or the message.
std::vector<std::string> read(const std::string& text, bool pairs,
                              TextFormat format = TextFormat::automatic, bool skip_broken = false,
                              std::size_t chunk = 2) {
  const GivenInput input(text);
  LineReader reader("-");
  std::vector<std::string> result;
  try {
    read_text_lines(reader, {.pairs = pairs, .format = format, .skip_broken = skip_broken}, chunk,
                    [&](const std::vector<TextLine>& lines) {
                      CHECK(lines.size() <= chunk);
                      for (const TextLine& line : lines) {
                        result.push_back(!line.has_text ? "-"
                                         : pairs        ? line.first + "|" + line.second
                                                        : line.first);
                      }
                    });
    reader.warn_of_replaced();
  } catch (const Error& error) {
    result.push_back(error.what());
  }
  return result;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("one text a line, pairs with a tab, columns by name, JSON lines") {
  CHECK(read("\xef\xbb\xbfOne.\r\n\"Two\"\nThree", false) == Lines{"One.", "\"Two\"", "Three"});
  CHECK(read("A\tB\nC\tD\n", true) == Lines{"A|B", "C|D"});
  CHECK(read("sentence\tlabel\nfine\t1\n", false) == Lines{"fine"});
  CHECK(read("index\tsentence2\tsentence1\n0\tB\tA\n", true) == Lines{"A|B"});
  CHECK(read("{\"sentence\": \"a\\tb\"}\n{\"sentence\": \"c\"}\n", false) == Lines{"a\tb", "c"});
  CHECK(read("{\"sentence1\": \"a\", \"sentence2\": \"b\", \"x\": 1}\n", true) == Lines{"a|b"});
  CHECK(read("{not json\n", false, TextFormat::tsv) == Lines{"{not json"});
  CHECK(read("", false).empty());
}

TEST_CASE("what is no text is refused with its line") {
  CHECK(read("A\nB\tC\n", false).back().starts_with("standard input:2: has 2 columns, wanted 1"));
  CHECK(read("A\tB\nC\n", true).back().starts_with("standard input:2: has 1 column, wanted 2"));
  CHECK(read("A\t \n", true) == Lines{"standard input:1: an empty text"});
  CHECK(read("{\"sentence\": \" \"}\n", false) == Lines{"standard input:1: an empty text"});
  CHECK(read("{\"sentence\": \"a\"}\n{\"sentence\": 3}\n", false).back() ==
        "standard input:2: has no text \"sentence\": it is 3");
  CHECK(has(read("[]\n", false, TextFormat::jsonl).back(),
            "standard input:1: is a list of 0, wanted an object"));
}

TEST_CASE("a blank line before others has no text, and blank lines at the end are ignored") {
  CHECK(read("A\n\n", false) == Lines{"A"});
  CHECK(read("A\n\n \r\nB\n\n\n", false) == Lines{"A", "-", "-", "B"});
  CHECK(read("sentence\n\nA\n", false) == Lines{"-", "A"});
  CHECK(read("\n{\"sentence\": \"a\"}\n\n", false) == Lines{"-", "a"});
  CHECK(read("A\tB\n\t\nC\tD\n", true) == Lines{"A|B", "-", "C|D"});
}

TEST_CASE("what is malformed in a text to classify is repaired and counted") {
  const auto replaced = [](const std::string& text) {
    return said([&] { CHECK(has(read(text, false).at(0), "\xef\xbf\xbd")); });
  };
  CHECK(has(replaced("caf\xe9\n"), "1 malformed UTF-8 sequence became U+FFFD"));
  CHECK(has(replaced("{\"sentence\": \"caf\xe9\", \"score\": NaN}\n"), "1 malformed UTF-8"));
  CHECK(has(replaced("{\"sentence\": \"\\ud83d\", \"x\": \"\\ud83d\"}\n"), "1 malformed"));
}

TEST_CASE("a broken line of JSON lines is refused, or left out and answered") {
  const std::string lines = "{\"sentence\": \"a\"}\n{\"sentence\": \n{\"sentence\": \"b\"}\n";
  CHECK(has(read(lines, false).back(), "standard input:2: is not JSON from column 14 on"));
  CHECK(read(lines, false, TextFormat::automatic, true) == Lines{"a", "-", "b"});
}

TEST_CASE("columns may have the names of the task's own files, and none may be there twice") {
  const auto texts = [](const std::string& text) {
    const GivenInput input(text);
    LineReader reader("-");
    std::string result;
    read_text_lines(reader, {.pairs = true, .first = "question", .second = "sentence"}, 8,
                    [&](const std::vector<TextLine>& lines) {
                      for (const TextLine& line : lines) result += line.first + "|" + line.second + ";";
                    });
    return result;
  };
  CHECK(texts("sentence\tquestion\nB\tA\n") == "A|B;");
  CHECK(texts("sentence1\tsentence2\nA\tB\n") == "A|B;");
  CHECK(texts("{\"question\": \"A\", \"sentence\": \"B\"}\n") == "A|B;");
  CHECK(has(said([&] { CHECK(texts("Question \tSentence\nA\tB\n") == "Question |Sentence;A|B;"); }),
            "is read as a text; column names would be question and sentence"));
  CHECK(said([&] { texts("one\ttwo\n"); }).empty());
  CHECK(read("sentence\tsentence\na\tb\n", false) ==
        Lines{"standard input:1: has two columns \"sentence\" (hint: which of them is meant is not "
              "known)"});
}
