// Texts of a user's own, in the forms that people have them.
#include "data/text_lines.h"

#include <sstream>

#include "base/error.h"
#include "catch.h"

using namespace roformer;

namespace {

// "first|second" of each line, or the message.
std::vector<std::string> read(const std::string& text, bool pairs,
                              TextFormat format = TextFormat::automatic, std::size_t chunk = 2) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  try {
    read_text_lines(stream, {.location = "in", .pairs = pairs, .format = format}, chunk,
                    [&](const std::vector<TextLine>& lines) {
                      CHECK(lines.size() <= chunk);
                      for (const TextLine& line : lines) {
                        result.push_back(pairs ? line.first + "|" + line.second : line.first);
                      }
                    });
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
  CHECK(read("A\nB\tC\n", false).back().starts_with("in:2: has 2 columns, wanted 1"));
  CHECK(read("A\tB\nC\n", true).back().starts_with("in:2: has 1 column, wanted 2"));
  CHECK(read("A\n\n", false) == Lines{"in:2: an empty text"});
  CHECK(read("A\t \n", true) == Lines{"in:1: an empty text"});
  CHECK(read("{\"sentence\": \"a\"}\n{\"sentence\": 3}\n", false).back() ==
        "in:2: has no text \"sentence\"");
  CHECK(read("[]\n", false, TextFormat::jsonl).back() == "in:1: is not a JSON object");
}
