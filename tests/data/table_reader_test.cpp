// Tables as users have them: CSV, TSV and JSON Lines.
#include "data/table_reader.h"

#include "base/error.h"
#include "catch.h"
#include "fixture.h"
#include "has.h"
#include "message_of.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

using TableRow = std::vector<std::string>;

struct TableFile {
  TemporaryFolder folder;
  std::filesystem::path path;

  TableFile(const std::string& name, std::string_view text) : path(folder.path / name) {
    write_text(path, text);
  }
  std::vector<TableRow> rows(TableReader::Options options = {}) const {
    TableReader table(path, options);
    std::vector<TableRow> all{table.names()};
    while (table.next()) all.push_back(table.row());
    return all;
  }
  std::string refused(TableReader::Options options = {}) const {
    return message_of([&] { rows(options); });
  }
};

}  // namespace

TEST_CASE("CSV has quoted cells with commas, quotation marks and line ends in them") {
  const TableFile file("a.csv",
                       "\xef\xbb\xbfid,text,label\r\n"
                       "1,\"He said \"\"no\"\", twice\",x\r\n"
                       "\r\n"
                       "2,\"two\r\nlines, \",\"\"\r\n"
                       "3,a \"quoted\" word,y\n");
  CHECK(file.rows() == std::vector<TableRow>{{"id", "text", "label"},
                                             {"1", "He said \"no\", twice", "x"},
                                             {"2", "two\nlines, ", ""},
                                             {"3", "a \"quoted\" word", "y"}});
}

TEST_CASE("a damaged CSV file is refused with the line at which the row begins") {
  CHECK(has(TableFile("a.csv", "a,b\n1,2\n1,\"2\n3,4\n").refused(),
            "a.csv:3: has a quotation mark that is not closed"));
  CHECK(has(TableFile("a.csv", "a,b\n1,\"2\"3\n").refused(),
            "a.csv:2: has text after the quotation mark that ends a cell"));
  CHECK(has(TableFile("a.csv", "a,b\n\"1\n\",2\n1,2,3\n").refused(),
            "a.csv:4: has 3 columns, wanted 2"));
  CHECK(has(TableFile("a.csv", "").refused(), "a.csv: is empty"));
}

TEST_CASE("the format follows the name of the file, or its first line") {
  const std::vector<TableRow> wanted{{"a", "b"}, {"1", "2"}};
  CHECK(TableFile("x.tsv", "a\tb\n1\t2\n").rows() == wanted);
  CHECK(TableFile("x", "a\tb\n1\t2\n").rows() == wanted);
  CHECK(TableFile("x", "a,b\n1,2\n").rows() == wanted);
  CHECK(TableFile("x", "{\"b\": 2, \"a\": \"1\"}\n").rows() == wanted);
  CHECK(TableFile("x.tsv", "a,b\n1,2\n").rows() == std::vector<TableRow>{{"a,b"}, {"1,2"}});
  CHECK(TableFile("x.csv", "1,2\n").rows({.header = false}) ==
        std::vector<TableRow>{{"1", "2"}, {"1", "2"}});
}

TEST_CASE("a text file without the expected names has rows only") {
  const TableReader::Options options{.expected = {"text"}};
  const TableFile file("x.txt", "Hello, world\nand you\n");
  TableReader table(file.path, options);
  CHECK(table.is_plain());
  CHECK(file.rows(options) == std::vector<TableRow>{{"1"}, {"Hello, world"}, {"and you"}});
  const TableFile named("x.txt", "id,text\n1,\"a, b\"\n");
  CHECK(named.rows(options) == std::vector<TableRow>{{"id", "text"}, {"1", "a, b"}});
}

TEST_CASE("columns are found by name or number") {
  const TableFile file("x.csv", "id,Title,2,id\n7,t,two,8\n");
  TableReader table(file.path, {});
  CHECK(table.column("Title", "k") == 1);
  CHECK(table.column("1", "k") == 0);
  CHECK(table.column("2", "k") == 2);  // the name counts before the number
  CHECK(has(message_of([&] { table.column("title", "classification.text"); }),
            "has no column \"title\" (hint: did you mean Title; its columns: id, Title, 2, id"));
  CHECK(table.has("id"));
  CHECK(has(message_of([&] { table.column("id", "k"); }),
            "k: " + file.path.string() + " has two columns \"id\""));
  CHECK(has(message_of([&] { table.column("5", "k"); }), "has no column \"5\""));
}

TEST_CASE("JSON values become text, and lists keep their entries") {
  const TableFile file("x.jsonl",
                       "{\"text\": \"a\", \"n\": 1.5, \"b\": true, \"l\": [\"x\", \"y|z\"]}\n"
                       "{\"text\": null, \"n\": 2, \"b\": false, \"l\": \"p | q\", \"more\": 1}\n"
                       "{\"n\": 2}\n");
  TableReader table(file.path, {});
  CHECK(table.names() == TableRow{"b", "l", "n", "text"});
  REQUIRE(table.next());
  CHECK(table.row() == TableRow{"true", "x|y|z", "1.5", "a"});
  CHECK(table.list(1, '|') == TableRow{"x", "y|z"});
  REQUIRE(table.next());
  CHECK(table.text(3).empty());
  CHECK(table.list(1, '|') == TableRow{"p", "q"});
  REQUIRE(table.next());
  CHECK(has(message_of([&] { table.text(3); }), "x.jsonl:3: has no \"text\""));
  CHECK_FALSE(table.next());
}
