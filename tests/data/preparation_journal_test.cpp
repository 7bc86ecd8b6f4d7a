#include "data/preparation.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "data/shard_sink.h"
#include "fixture.h"
#include "has.h"
#include "mortal_tokenizer.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

constexpr int kDocuments = 400;
constexpr std::string_view kDeath = "document 340 ";

std::unique_ptr<Tokenizer> character_tokenizer(const fs::path& folder) {
  write_text(folder / "letters.txt",
             "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nd\no\nc\nu\nm\n##e\n##n\n");
  return open_tokenizer({.kind = TokenizerKind::wordpiece, .file = folder / "letters.txt"});
}

// Long documents, so that a block ends in the middle of some; lines that repeat, malformed UTF-8.
std::string corpus_text() {
  std::string text;
  for (int i = 0; i < kDocuments; ++i) {
    text += "document " + std::to_string(i) + " \n";
    for (int line = 0; line < 260 + i % 7 * 100; ++line) {
      const bool repeats = line % 11 == 7;
      text += "m " + std::to_string(repeats ? line : i * 1000 + line) +
              (line % 50 == 3 ? " \xff\xfe\n" : " d o\n");
    }
    text += "\n";
  }
  return text;
}

// A corpus, a preparation of it that was never interrupted, and one that can be.
struct Killed {
  TemporaryFolder folder;
  fs::path corpus = folder.path / "text.txt";
  fs::path partial = folder.path / "killed.partial";
  bool by_bytes = false;
  PrepareOptions options = {.corpus = {.inputs = {corpus}, .remove_repeats = true},
                            .validation_fraction = 0.2,
                            .test_fraction = 0.1,
                            .shard_tokens = 40'000,
                            .name = "sample"};

  explicit Killed(bool bytes) : by_bytes(bytes) {
    write_text(corpus, corpus_text());
    write_text(folder.path / "valid", "one more\n\nand \xff another\n");
  }
  MortalTokenizer tokenizer(std::string_view death = "") const {
    return {by_bytes ? byte_tokenizer() : character_tokenizer(folder.path), std::string(death)};
  }
  void prepare_into(const char* name, const MortalTokenizer& tokens) {
    options.output = folder.path / name;
    prepare(options, tokens);
  }
  // Runs until the tokenizer meets the text.
  void die(std::string_view death = kDeath) {
    dies([&] { prepare_into("killed", tokenizer(death)); });
  }
  // Does it again; returns the part of the text that was tokenised.
  double again() {
    const MortalTokenizer tokens = tokenizer();
    prepare_into("killed", tokens);
    return static_cast<double>(tokens.bytes()) / static_cast<double>(read_file(corpus).size());
  }
  void check_whole() {
    if (!fs::exists(folder.path / "whole")) prepare_into("whole", tokenizer());
    CHECK(files_in(folder.path / "killed") == files_in(folder.path / "whole"));
    CHECK(files_in(folder.path / "killed").size() > 10);
    CHECK_FALSE(fs::exists(partial));
    CHECK_FALSE(fs::exists(folder.path / "killed.lock"));
  }
};

}  // namespace

TEST_CASE("A killed preparation goes on to bitwise the set of one that was never killed") {
  const auto [by_bytes, threads] = GENERATE(std::pair(false, 1), std::pair(true, 2));
  Killed set(by_bytes);
  set.options.threads = threads;
  SECTION("documents dealt to the splits") {}
  SECTION("a separate validation set") {
    set.options.validation_inputs = {set.folder.path / "valid"};
  }
  int threads_afterwards = threads;
  SECTION("another number of threads afterwards") {
    threads_afterwards = 3;
  }
  set.die();
  set.options.threads = threads_afterwards;
  CHECK(fs::exists(set.partial / "train-00002.bin"));
  double part = 0;
  const std::string words = said([&] { part = set.again(); });
  CHECK(has(words, "resuming where a killed process stopped"));
  // Not the training set's finished shards, which are the most of it.
  CHECK(part < 0.65);
  CHECK(part > 0.1);
  set.check_whole();
}

TEST_CASE("Killed again and again, a preparation still ends with the same set") {
  Killed set(false);
  for (int document = 40; document < kDocuments; document += 60) {
    set.die("document " + std::to_string(document) + " ");
  }
  CHECK(set.again() < 0.5);
  set.check_whole();
}

TEST_CASE("Finished shards are left as they are, and what is half of one goes") {
  Killed set(true);
  set.die();
  const auto written = fs::last_write_time(set.partial / "train-00000.bin");
  write_text(set.partial / "train-00077.bin", "not in the journal");
  write_text(set.partial / "tokenizer.json", "{");
  set.again();
  CHECK(fs::last_write_time(set.folder.path / "killed" / "train-00000.bin") == written);
  set.check_whole();
}

TEST_CASE("What another command left is not gone on with, and a line says why") {
  Killed set(true);
  set.die();
  std::string why;
  SECTION("the seed") {
    set.options.seed = 2;
    why = "the seed was another";
  }
  SECTION("the share of the validation set") {
    set.options.validation_fraction = 0.3;
    why = "the validation fraction was another";
  }
  SECTION("the size of a shard") {
    set.options.shard_tokens = 50'000;
    why = "the size of shards was another";
  }
  SECTION("the tokenizer") {
    set.by_bytes = false;
    why = "the tokenizer was another";
  }
  SECTION("lines that repeat") {
    set.options.corpus.remove_repeats = false;
    why = "the choice to remove repeats was another";
  }
  SECTION("the field of JSON Lines") {
    set.options.corpus.text_field = "content";
    why = "the field of JSON Lines was another";
  }
  SECTION("one more file") {
    set.options.corpus.inputs.push_back(set.folder.path / "valid");
    why = "the corpus was another";
  }
  SECTION("a file that was written again") {
    write_text(set.corpus, corpus_text() + "the end\n");
    why = "the corpus was another";
  }
  SECTION("a file that has other text with the old size and time") {
    const auto time = fs::last_write_time(set.corpus);
    std::string text = corpus_text();
    text[20] = 'M';
    write_text(set.corpus, text);
    fs::last_write_time(set.corpus, time);
    why = "the corpus is not what it was";
  }
  SECTION("a damaged shard") {
    std::string shard = read_file(set.partial / "train-00001.bin");
    shard[shard.size() / 2] = static_cast<char>(shard[shard.size() / 2] ^ 1);
    write_text(set.partial / "train-00001.bin", shard);
    why = "train-00001.bin is damaged";
  }
  SECTION("a shard that is gone") {
    fs::remove(set.partial / "train-00001.bin");
    why = "train-00001.bin cannot read: No such file";
  }
  SECTION("another shard of the same tokenizer") {
    fs::copy_file(set.partial / "train-00000.bin", set.partial / "train-00001.bin",
                  fs::copy_options::overwrite_existing);
    why = "train-00001.bin is not what was written";
  }
  SECTION("a damaged journal") {
    std::string journal = read_file(set.partial / kPreparationJournal);
    journal[journal.find(": ", journal.find("documents_of_corpus")) + 2] ^= 1;
    write_text(set.partial / kPreparationJournal, journal);
    why = "preparation.json is damaged";
  }
  SECTION("a journal of other contents") {
    write_text(set.partial / kPreparationJournal, "{\"format\": \"roformer preparation\"}");
    why = "preparation.json has no field version";
  }
  const std::string words = said([&] { CHECK(set.again() > 0.8); });
  CHECK(has(words, why));
  CHECK(has(words, "starting over"));
  set.check_whole();
}

TEST_CASE("A shard that cannot be read for now is not given up") {
  Killed set(true);
  set.die();
  const fs::path shard = set.partial / "train-00001.bin", aside = set.folder.path / "aside";
  fs::rename(shard, aside);
  fs::create_symlink(shard.filename(), shard);  // to itself: nobody can open that
  CHECK_THROWS_WITH(set.again(), Catch::Contains("train-00001.bin"));
  fs::remove(shard);
  fs::rename(aside, shard);
  CHECK(set.again() < 0.65);
  set.check_whole();
}

TEST_CASE("A corpus that can be read only once has no journal") {
  Killed set(true);
  set.options.corpus.inputs = {"-"};
  CHECK(identity_of(set.options, set.tokenizer(), {"-"}).empty());
  PreparationJournal(set.folder.path, {}).write({});
  CHECK_FALSE(fs::exists(set.folder.path / kPreparationJournal));
}
