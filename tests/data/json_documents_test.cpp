#include "data/document_readers.h"

#include "base/error.h"
#include "catch.h"
#include "fixture.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;
using Documents = std::vector<std::string>;

namespace {

Documents read(const std::string& name, std::string_view text, CorpusOptions options = {}) {
  const TemporaryFolder folder;
  write_text(folder.path / name, text);
  options.inputs = {folder.path / name};
  return documents_of(options);
}

std::string complaint(std::string_view text, const std::string& field = "text") {
  try {
    read("texts.jsonl", text, {.text_field = field});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("each object of JSON Lines is a document, whatever lines its text has") {
  const std::string lines =
      "\xef\xbb\xbf{\"id\": 1, \"text\": \"a b\\nc\\n\\nd\"}\n"
      "\n"
      "{\"text\": \"\\u4e2d\\ud83d\\ude00\", \"title\": \"T\"}\r\n"
      "{\"text\": \" \"}\n"
      "{\"text\": \"last\"}";
  const Documents wanted{"a b|c||d", "中😀", "last"};
  CHECK(read("texts.jsonl", lines) == wanted);
  CHECK(read("texts.txt", lines, {.reader = CorpusReader::json_lines}) == wanted);
  CHECK(read("texts.jsonl", lines, {.reader = CorpusReader::text}).size() == 2);
  CHECK(read("texts.jsonl", "{\"text\": \"x\", \"title\": \"T\"}", {.text_field = "title"}) ==
        Documents{"T"});
}

TEST_CASE("JSON Lines are fed in pieces of any size") {
  struct Lines : CorpusSink {
    std::string all;
    void line(std::string_view text) override { all += std::string(text) + "|"; }
    void end_document() override { all += "."; }
  } sink;
  JsonDocuments documents("f", "text", sink);
  for (const char byte : std::string("{\"text\": \"a\\nb\"}\n{\"text\": \"c\"}")) {
    documents.feed({&byte, 1});
  }
  documents.end_file();
  CHECK(sink.all == "a|b|.c|.");
  CHECK(documents.had_text());
}

TEST_CASE("a long line of a text comes in the parts in which it would come from a file") {
  struct Parts : CorpusSink {
    std::vector<std::size_t> sizes;
    void line(std::string_view text) override { sizes.push_back(text.size()); }
    void part(std::string_view text) override { sizes.push_back(text.size()); }
    void end_document() override { sizes.push_back(0); }
  } plain, json;
  std::string line;
  while (line.size() < 2'500'000) line += "words that go on ";
  const TemporaryFolder folder;
  write_text(folder.path / "a.txt", line + "\nz");
  write_text(folder.path / "a.jsonl", "{\"text\": \"" + line + "\\nz\"}\n");
  read_corpus({.inputs = {folder.path / "a.txt"}}, plain);
  read_corpus({.inputs = {folder.path / "a.jsonl"}}, json);
  CHECK(plain.sizes.size() > 4);
  CHECK(json.sizes == plain.sizes);
}

TEST_CASE("a line that is no text says where and what there is") {
  CHECK(
      has(complaint("{\"text\": \"a\"}\n{\"text\": \"b\"\n"), "texts.jsonl:2: is not JSON from "));
  CHECK(has(complaint("{\"text\": \"a\", \"text\": \"b\"}\n"), ":1: names \"text\" twice"));
  CHECK(has(complaint("{\"text\": NaN}\n"), "has null as \"text\", wanted a text"));
  CHECK(has(complaint("[1, 2]\n"), "texts.jsonl:1: is a list of 2, wanted an object"));
  const std::string missing = complaint("{\"id\": 7, \"content\": \"a\", \"title\": \"b\"}\n");
  CHECK(has(missing, "texts.jsonl:1: has no field \"text\", wanted a text"));
  CHECK(has(missing, "it has texts in \"content\", \"title\"; choose one with --text-field"));
  CHECK(has(complaint("{\"text\": null}\n"), "has null as \"text\", wanted a text"));
  CHECK(has(complaint("{\"text\": \" \"}\n"), "holds no text"));
}

TEST_CASE("what other programs write into JSON Lines stops no corpus and is counted") {
  const TemporaryFolder folder;
  const std::string lines =
      "{\"text\": \"one two\", \"score\": NaN, \"big\": 1e999}\n"
      "{\"text\": \"caf\xe9\"}\n{\"text\": \"a\\ud83d\", \"other\": \"\\ud83d\"}\n"
      "{\"text\": \"last words\"}\n";
  CHECK(read("texts.jsonl", lines) ==
        Documents{"one two", "caf\xef\xbf\xbd", "a\xef\xbf\xbd", "last words"});
  write_text(folder.path / "texts.jsonl", lines);
  const DatasetDescription description =
      prepare({.corpus = {.inputs = {folder.path / "texts.jsonl"}},
               .validation_fraction = 0,
               .output = folder.path / "set"},
              *byte_tokenizer());
  CHECK(description.invalid_sequences == 2);
  const std::string broken = lines + "{\"text\": \"cut o";
  CHECK(has(complaint(broken), "texts.jsonl:5: is not JSON from column 16 on"));
  CHECK(read("texts.jsonl", broken, {.skip_broken = true}).size() == 4);
}

TEST_CASE("a file is JSON Lines by its name, compressed or not") {
  for (const char* name : {"a.jsonl", "b/a.ndjson", "a.jsonl.gz", "a.jsonl.zst", "a.b.jsonl.xz",
                           "A.JSONL", "a.jsonl.GZ"}) {
    CHECK(is_json_lines(name));
  }
  for (const char* name : {"a.json", "a.txt", "jsonl", "a.jsonl.txt", "a.gz", "-"}) {
    CHECK(!is_json_lines(name));
  }
}
