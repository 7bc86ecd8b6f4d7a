#include "data/recipe.h"

#include "base/error.h"
#include "catch.h"
#include "data/parallel_recipe.h"
#include "fixture.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

TEST_CASE("A recipe says what is read and how") {
  const TemporaryFolder folder;
  write_text(folder.path / "raw" / "a.txt", "text");
  write_text(folder.path / "recipe.yaml",
             "name: sample\nlicence: none\nfiles: [raw]\nvalidation_files: [raw/a.txt]\n"
             "document_separator: line\nreader: text\nremove_repeats: true\n"
             "validation_fraction: 0.25\n");
  const std::optional<fs::path> path = recipe_among({folder.path / "recipe.yaml"});
  REQUIRE(path);
  const Recipe recipe = read_recipe(*path);
  CHECK(recipe.name == "sample");
  CHECK(recipe.corpus.inputs == std::vector<fs::path>{folder.path / "raw"});
  CHECK(recipe.validation_files == std::vector<fs::path>{folder.path / "raw" / "a.txt"});
  CHECK(recipe.corpus.separator == DocumentSeparator::line);
  CHECK(recipe.corpus.remove_repeats);
  CHECK(recipe.validation_fraction == 0.25);
  CHECK_FALSE(recipe_among({folder.path / "raw"}));
  CHECK_THROWS_AS(recipe_among({folder.path / "recipe.yaml", folder.path / "raw"}), Error);
}

TEST_CASE("All that is wrong with a recipe is said at once, with lines") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "recipe.yaml";
  write_text(path, "name: [a]\nlicense: x\nvalidation_fraction: 1.5\ndocument_separator: page\n");
  try {
    read_recipe(path);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    const std::string text = error.what();
    for (const std::string part :
         {":1: name: got a list, wanted a text", ":2: license: unknown key", "did you mean licence",
          ":3: validation_fraction: got \"1.5\"", ":4: document_separator: 'page' is not known",
          "files: is missing"}) {
      CAPTURE(part);
      CHECK(text.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("A recipe reads numbers as a configuration does") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "recipe.yaml";
  const auto problem = [&](const std::string& rules) {
    write_text(path, "name: a\nlanguages: [en, de]\ntrain: [{pairs: a.tsv}]\n" + rules + "\n");
    try {
      read_parallel_recipe(path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  for (const std::string value : {"010", "0310", "08", "-010", "0x10"}) {
    CAPTURE(value);
    const std::string text = problem("rules: {longest_words: " + value + "}");
    CHECK(has(text, ":4: rules.longest_words: got \"" + value + "\", wanted an integer from 0"));
    CHECK(has(text, "leading zero") == (value != "0x10"));
  }
  CHECK(has(problem("rules: {length_ratio: 010}"), "leading zero"));
  CHECK(has(problem("validation_fraction: 00.5"), "leading zero"));
  CHECK(has(problem("rules: {length_ratio: .inf}"), "wanted a number of at least 0"));
  CHECK(has(problem("rules: {longest_words: 10, length_ratio: 0.5}"), "raw files are not there"));
  CHECK(has(problem("rules:\n  <<: {longest_words: 10}"), "merge keys are not read here"));
}

TEST_CASE("Missing raw files come with the command that fetches them") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "recipe.yaml";
  write_text(path, "name: a\nfetch: scripts/fetch it\nfiles: [raw]\n");
  CHECK_THROWS_WITH(read_recipe(path), path.string() + ": its raw files are not there: " +
                                           (folder.path / "raw").string() +
                                           " (hint: fetch them: scripts/fetch it)");
}

TEST_CASE("The recipes that come with the program are well-formed") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(FIXTURES) / ".." / ".." / "data")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    CAPTURE(entry.path().string());
    try {
      if (is_parallel_recipe(entry.path())) {
        read_parallel_recipe(entry.path());
      } else {
        read_recipe(entry.path());
      }
    } catch (const Error& error) {  // their raw files need not be here
      CHECK(error.kind() == ErrorKind::failure);
      CHECK(error.parts().hint.starts_with("fetch them: "));
    }
  }
  CHECK(count >= 8);
}

TEST_CASE("A recipe divides its file by bytes, and not by anything else besides") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "recipe.yaml";
  write_text(folder.path / "mine", "text");
  write_text(path,
             "name: a\nfiles: [raw]\nreader: verbatim\nsplit_bytes: [90, 5, 5]\nsha1: 00ff\n");
  const Recipe recipe = read_recipe(path, {folder.path / "mine"});
  CHECK(recipe.corpus.inputs == std::vector<fs::path>{folder.path / "mine"});
  CHECK(recipe.shares.bytes == std::array<std::uint64_t, 3>{90, 5, 5});
  CHECK(recipe.shares.sha1 == "00ff");
  const auto complaint = [&](const std::string& text) {
    write_text(path, "name: a\nfiles: [mine]\n" + text);
    try {
      read_recipe(path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint("test_files: [mine]\ntest_fraction: 0.1\n").empty());
  CHECK(complaint("reader: verbatim\nsplit_bytes: [9, 5]\n").find("wanted three counts") !=
        std::string::npos);
  CHECK(complaint("split_bytes: [9, 5, 5]\n").find("needs `reader: verbatim`") !=
        std::string::npos);
  CHECK(complaint("reader: verbatim\nsplit_bytes: [9, 5, 5]\ntest_fraction: 0.1\n")
            .find(":5: test_fraction: the file is divided by split_bytes") != std::string::npos);
  CHECK(complaint("sha1: 00\n").find("belongs to split_bytes") != std::string::npos);
  CHECK(complaint("begins_with: a\n").find("belongs to split_bytes") != std::string::npos);
}

TEST_CASE("A list of packages gives the licence of each") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "recipe.yaml";
  write_text(folder.path / "a.txt", "text");
  write_text(folder.path / "packages.tsv", "one-doc\t1.2\tGPL-2+\t700\ntwo-doc\t3\tExpat\n");
  write_text(path, "name: a\nlicence: mixed\npackage_list: packages.tsv\nfiles: [a.txt]\n");
  CHECK(read_recipe(path).licence == "mixed; one-doc 1.2: GPL-2+; two-doc 3: Expat");
  CHECK(read_recipe(path, {folder.path / "a.txt"}).licence == "mixed");
  write_text(folder.path / "packages.tsv", "one-doc\t1.2\n");
  CHECK_THROWS_AS(read_recipe(path), Error);
  fs::remove(folder.path / "packages.tsv");
  CHECK_THROWS_AS(read_recipe(path), Error);
}
