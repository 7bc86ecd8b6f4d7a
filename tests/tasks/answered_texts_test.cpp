// Files of texts in the forms that users have them, answered row by row.
#include "tasks/answered_texts.h"

#include <fmt/format.h>

#include "base/error.h"
#include "catch.h"
#include "data/fixture.h"
#include "given_input.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

enum class Shape { single, pair, either };

// The answer is "first|second".
TextQuestions questions_of(Shape shape) {
  TextQuestions questions{.columns = {"answer"},
                          .usual_names = {"a", "b"},
                          .find_columns =
                              [shape](const TableReader& table) {
                                TextColumns columns{.first = table.column("a", "the.key")};
                                if (shape == Shape::pair)
                                  columns.second = table.column("b", "the.key");
                                return columns;
                              },
                          .answer =
                              [](const std::vector<GivenText>& texts, std::int64_t& cut) {
                                std::vector<TextAnswer> answers;
                                for (const GivenText& text : texts) {
                                  if (text.first == "long") ++cut;
                                  std::string answer =
                                      text.first + (text.second ? "|" + *text.second : "");
                                  answers.push_back({{answer}, {{"answer", answer}, {"more", 1}}});
                                }
                                return answers;
                              }};
  if (shape != Shape::pair) questions.single = {"a"};
  if (shape != Shape::single) questions.pair = {"a", "b"};
  return questions;
}

// What is printed for a file, or the message.
std::string answered(PredictionRequest request, Shape shape) {
  std::string printed;
  request.print = [&](std::string_view text) { printed += text; };
  try {
    answer_texts(questions_of(shape), Settings{}, request);
  } catch (const Error& error) {
    return error.what();
  }
  return printed;
}

std::string answered(const std::string& text, Shape shape, PredictionRequest request = {}) {
  const GivenInput input(text);
  return answered(request, shape);
}

}  // namespace

TEST_CASE("texts and pairs without a header get the columns of the answers") {
  CHECK(answered("\xef\xbb\xbfOne.\r\n\"Two\", too\nThree", Shape::single) ==
        "a\tanswer\nOne.\tOne.\n\"Two\", too\t\"Two\", too\nThree\tThree\n");
  CHECK(answered("A\tB\nC\tD\n", Shape::pair) == "a\tb\tanswer\nA\tB\tA|B\nC\tD\tC|D\n");
  CHECK(answered("A\tB\n", Shape::either) == "a\tb\tanswer\nA\tB\tA|B\n");
  CHECK(answered("{not json\n", Shape::single, {.format = "tsv"}) ==
        "a\tanswer\n{not json\t{not json\n");
}

TEST_CASE("a table keeps its columns and format") {
  CHECK(answered("b\tid\ta\nB\t7\tA\n", Shape::pair) == "b\tid\ta\tanswer\nB\t7\tA\tA|B\n");
  CHECK(answered("id,a\n1,\"x, \"\"y\"\"\nz\"\n", Shape::single) ==
        "id,a,answer\n1,\"x, \"\"y\"\"\nz\",\"x, \"\"y\"\"\nz\"\n");
  CHECK(answered("{\"a\": \"x\\ty\", \"n\": 1}\n", Shape::single) ==
        "{\"a\":\"x\\ty\",\"n\":1,\"answer\":\"x\\ty\",\"more\":1}\n");
  CHECK(answered("id\ta\n1\tx\n", Shape::single, {.json = true}) ==
        "{\"id\":\"1\",\"a\":\"x\",\"answer\":\"x\",\"more\":1}\n");
  const TemporaryFolder folder;
  const auto of_file = [&](const char* name, const char* text) {
    write_text(folder.path / name, text);
    return answered(PredictionRequest{.file = (folder.path / name).string()}, Shape::single);
  };
  // By its name the first line is a header, so that no header is answered as a text.
  CHECK(has(of_file("x.csv", "text\nhello\n"), "the.key: "));
  CHECK(has(of_file("x.csv", "text\nhello\n"), "has no column \"a\""));
  CHECK(of_file("x.txt", "text\nhello\n") == "a\tanswer\ntext\ttext\nhello\thello\n");
}

TEST_CASE("an answer replaces a column of its name, and says so") {
  const auto replaced = [](const std::string& text, const std::string& wanted) {
    return said([&] { CHECK(answered(text, Shape::single) == wanted); });
  };
  CHECK(has(replaced("answer\ta\nold\tx\n", "a\tanswer\nx\tx\n"),
            "standard input: the answers replace its column \"answer\""));
  CHECK(has(replaced("{\"a\": \"x\", \"more\": {\"k\": 2}}\n",
                     "{\"a\":\"x\",\"answer\":\"x\",\"more\":1}\n"),
            "replace its column \"more\""));
}

TEST_CASE("a line in, a line out") {
  CHECK(answered("A\n\n \r\nB\n\n\n", Shape::single) == "a\tanswer\nA\tA\n\n\nB\tB\n");
  CHECK(answered("a\n\nA\n", Shape::single) == "a\tanswer\n\nA\tA\n");
  CHECK(answered("A\tB\n\t\nC\tD\n", Shape::pair) == "a\tb\tanswer\nA\tB\tA|B\n\nC\tD\tC|D\n");
  const std::string broken = "{\"a\": \"x\"}\n{\"a\": \n{\"a\": \"y\"}\n";
  CHECK(has(answered(broken, Shape::single), "standard input:2: is not JSON from column 7 on"));
  CHECK(has(answered(broken, Shape::single), "--skip-broken skips other lines"));
  CHECK(answered(broken, Shape::single, {.skip_broken = true}) ==
        "{\"a\":\"x\",\"answer\":\"x\",\"more\":1}\n\n{\"a\":\"y\",\"answer\":\"y\",\"more\":1}\n");
  CHECK(answered("\n{\n{\n\n{\"a\": \"x\"}\n", Shape::single, {.skip_broken = true}) ==
        "\n\n\n\n{\"a\":\"x\",\"answer\":\"x\",\"more\":1}\n");
  CHECK(answered("{\n\n{\n\n", Shape::single, {.skip_broken = true}) == "\n\n\n");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "x\n";
  const std::string all = answered(many, Shape::single);
  CHECK(std::ranges::count(all, '\n') == 5001);
}

TEST_CASE("what cannot be answered is refused with its line") {
  CHECK(has(answered("A\tB\n", Shape::single),
            "standard input:1: has 2 columns and no header line (hint: one text per line, or"));
  CHECK(has(answered("A\nB\n", Shape::pair), "standard input:1: has 1 column and no header"));
  CHECK(has(answered("A\tB\tC\n", Shape::either), "one text per line, two texts per line"));
  CHECK(has(answered("A\nB\tC\n", Shape::single), "standard input:2: has 2 columns, wanted 1"));
  CHECK(has(answered("a\ta\nx\ty\n", Shape::single), "has two columns \"a\""));
  const std::string twice = "a\tn\tn\nx\t1\t2\n";
  CHECK(answered(twice, Shape::single) == "a\tn\tn\tanswer\nx\t1\t2\tx\n");
  CHECK(has(answered(twice, Shape::single, {.json = true}), "has two columns \"n\""));
  CHECK(has(answered("{\"a\": \"x\"}\n{\"b\": \"y\"}\n", Shape::single),
            "standard input:2: has no \"a\""));
  CHECK(has(answered("", Shape::single), "standard input: is empty"));
}

TEST_CASE("what is odd in texts is counted once and said") {
  const auto words = [](const std::string& text, Shape shape) {
    return said([&] { answered(text, shape); });
  };
  CHECK(has(words("caf\xe9\n", Shape::single), "1 malformed UTF-8 sequence became U+FFFD"));
  CHECK(has(words("{\"a\": \"\\ud83d\", \"x\": \"\\ud83d\"}\n", Shape::single), "1 malformed"));
  CHECK(has(words("long\nlong\n", Shape::single), "2 texts cut at data.length"));
  CHECK(has(words("x\t \n", Shape::pair), "1 text without any word"));
  CHECK(has(words("A \tB\nx\ty\n", Shape::pair),
            "standard input:1: is read as a text; the name of a column would be a, not \"A\""));
  CHECK(words("one\ttwo\n", Shape::pair).empty());
  CHECK(has(words("a\n", Shape::single), "there is no text in it"));
}
