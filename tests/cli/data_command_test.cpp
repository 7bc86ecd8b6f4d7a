// `roformer data` on sentence pairs, as a user calls it.
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "has.h"
#include "run_command.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

struct Files {
  TemporaryFolder folder;

  Files() {
    std::ofstream en(folder.path / "a.en"), de(folder.path / "a.de");
    for (int i = 0; i < 400; ++i) {
      en << "the house number " << i << " is old\n";
      de << "das Haus Nummer " << i << " ist alt\n";
    }
    en << "\nsame\n";
    de << "leer\nsame\n";
    std::ofstream(folder.path / "test.tsv") << "the house\tdas Haus\n";
  }
  std::string at(const std::string& name) const { return (folder.path / name).string(); }
};

}  // namespace

TEST_CASE("Sentence pairs are prepared and shown with what the rules removed") {
  const Files files;
  const Outcome made =
      run({"data", "prepare", files.at("a.en"), files.at("a.de"), "--languages", "en,de", "--test",
           files.at("test.tsv"), "--validation-fraction", "0.1", "--pieces", "60",
           "--remove-identical", "--output", files.at("out") + "/"});
  CAPTURE(made.errors);
  REQUIRE(made.code == 0);
  CHECK(has(made.output, "sentence pairs out, en to de"));
  CHECK(has(made.output, "both sides the same"));
  const Outcome shown = run({"data", "inspect", files.at("out"), "--examples", "1"});
  CAPTURE(shown.errors);
  REQUIRE(shown.code == 0);
  CHECK(has(shown.output, "60 entries, joint"));
  CHECK(has(shown.output, "checksums are right"));
  CHECK(has(shown.output, "1 pairs of test, as text:\n  0\n    en  the house\n"));
  CHECK(has(shown.output, "1 pairs of train, as pieces:"));
}

TEST_CASE("Flags that do not fit the kind of text are refused by name") {
  const Files files;
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"data", "prepare", files.at("a.en"), files.at("a.de"), "--output",
                                 files.at("out")});
    const Outcome outcome = run(words);
    CHECK(outcome.code == 2);
    CHECK_FALSE(fs::exists(files.at("out")));
    return outcome.errors;
  };
  CHECK(has(refused({"--remove-duplicates", "--bytes"}), "--remove-duplicates: is for sentence"));
  CHECK(has(refused({"--languages", "en,de", "--remove-repeats", "--bytes"}),
            "--remove-repeats: is for running text"));
  CHECK(has(refused({"--languages", "en,de", "--files", files.at("a.en"), "--bytes"}),
            "--files: is for running text"));
  CHECK(has(refused({"--languages", "en,de"}), "no tokenizer is named"));
  CHECK(has(refused({"--languages", "en,de", "--pieces", "60", "--bytes"}),
            "--pieces: is for a vocabulary to train"));
  CHECK(has(refused({"--languages", "en,de", "--bytes", "--test", files.at("a.en")}),
            "has no partner"));
}

TEST_CASE("Either side's WordPiece keeps its case where that is asked for") {
  const Files files;
  std::ofstream(files.at("vocab.txt")) << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nHaus\nhaus\n";
  const auto vocabularies = [&](const std::string& flag, const std::string& out) {
    std::vector<std::string> words{"data",
                                   "prepare",
                                   files.at("a.en"),
                                   files.at("a.de"),
                                   "--languages",
                                   "en,de",
                                   "--tokenizer",
                                   files.at("vocab.txt"),
                                   "--target-tokenizer",
                                   files.at("vocab.txt"),
                                   "--output",
                                   files.at(out)};
    if (!flag.empty()) words.push_back(flag);
    const Outcome made = run(words);
    CAPTURE(made.errors);
    CHECK(made.code == 0);
    return run({"data", "inspect", files.at(out)}).output;
  };
  CHECK_FALSE(has(vocabularies("--cased", "cased"), "uncased"));
  CHECK(has(vocabularies("", "uncased"), "uncased"));
}

TEST_CASE("A recipe is prepared beside itself, files only into a folder that is named") {
  const Files files;
  std::ofstream(files.folder.path / "pairs.yaml")
      << "name: pairs\nlanguages: [en, de]\ntrain:\n  - {source: a.en, target: a.de}\n"
         "validation_fraction: 0.1\nvocabulary: {kind: bpe, pieces: 60}\n";
  const Outcome made = run({"data", "prepare", files.at("pairs.yaml")});
  CAPTURE(made.errors);
  REQUIRE(made.code == 0);
  CHECK(fs::is_directory(files.folder.path / "prepared" / "pairs"));
  const Outcome nowhere =
      run({"data", "prepare", files.at("a.en"), files.at("a.de"), "--languages", "en,de"});
  CHECK(nowhere.code == 2);
  CHECK(has(nowhere.errors, "--output: is required"));
}

TEST_CASE("Links out of a folder of text are left out with a line, and followed with a flag") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder.path / name).string(); };
  fs::create_directory(folder.path / "corpus");
  std::ofstream(folder.path / "secret") << "a key\n";
  std::ofstream(folder.path / "corpus" / "a.txt") << "a text\n\nanother\n";
  fs::create_symlink("../secret", folder.path / "corpus" / "b.txt");
  const auto prepare = [&](const char* output, std::vector<std::string> more) {
    more.insert(more.begin(), {"data", "prepare", at("corpus"), "--bytes", "--output", at(output),
                               "--validation-fraction", "0", "--threads", "1"});
    const Outcome outcome = run(more);
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    return outcome;
  };
  CHECK(has(prepare("without", {}).output, "files read: 1, left out: 1"));
  CHECK(has(prepare("with", {"--follow-links"}).output, "files read: 2\n"));
  CHECK(run({"tokenizer", "train", at("corpus"), "--follow-links", "--kind", "characters",
             "--output", at("letters")})
            .code == 0);
}
