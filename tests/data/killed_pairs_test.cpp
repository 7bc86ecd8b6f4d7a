// A preparation of sentence pairs that is killed and goes on.
#include "catch.h"
#include "data/pair_writer.h"
#include "data/parallel_dataset.h"
#include "data/prepare_pairs.h"
#include "fixture.h"
#include "has.h"
#include "mortal_tokenizer.h"
#include "pair_fixture.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

constexpr int kPairs = 12'000;

// Some lines are too long, some stand twice, some are malformed.
TextPairs corpus_pairs() {
  TextPairs pairs;
  for (int i = 0; i < kPairs; ++i) {
    const std::string number = std::to_string(i % 97 == 5 ? i - 1 : i);
    std::string source = "sentence " + number;
    if (i % 50 == 7) source += " and so on, for longer than the rules let it be";
    if (i % 70 == 9) source += " \xff";
    pairs.emplace_back(source, "Satz " + number);
  }
  return pairs;
}

struct KilledPairs {
  TemporaryFolder folder;
  fs::path partial = folder.path / "killed.partial";
  PreparePairsOptions options;

  KilledPairs() {
    PairSource corpus = write_pairs(folder.path, "corpus", corpus_pairs());
    PairSource weighted = write_pairs(folder.path, "weighted", {{"one more", "noch eins"}});
    weighted.weight = 2.5;
    options.corpus = {
        .languages = {"en", "de"},
        .train = {weighted, corpus},
        .validation =
            HeldOutPairs{write_pairs(folder.path, "valid", {{"a", "ein"}, {"", "leer"}}), {}},
        .test_fraction = 0.05,
        .rules = {.longest_pieces = 30, .length_ratio = 6, .remove_duplicates = true}};
    options.shard_tokens = 20'000;
    options.name = "sample";
  }
  MortalTokenizer tokenizer(std::string_view death = "") const {
    return {byte_tokenizer(), std::string(death)};
  }
  void prepare_into(const char* name, const MortalTokenizer& tokens) {
    options.output = folder.path / name;
    prepare_pairs(options, tokens, tokens);
  }
  void die(std::string_view death = "Satz 10500") {
    dies([&] { prepare_into("killed", tokenizer(death)); });
  }
  // Does it again; returns the bytes that were tokenised.
  double again() {
    const MortalTokenizer tokens = tokenizer();
    prepare_into("killed", tokens);
    return static_cast<double>(tokens.bytes());
  }
  // And of a preparation that nobody killed.
  double check_whole() {
    double bytes = 0;
    if (!fs::exists(folder.path / "whole")) {
      const MortalTokenizer tokens = tokenizer();
      prepare_into("whole", tokens);
      bytes = static_cast<double>(tokens.bytes());
    }
    CHECK(files_in(folder.path / "killed") == files_in(folder.path / "whole"));
    CHECK(files_in(folder.path / "killed").size() > 20);
    CHECK_FALSE(fs::exists(partial));
    CHECK_FALSE(fs::exists(folder.path / "killed.lock"));
    return bytes;
  }
};

}  // namespace

TEST_CASE("A killed preparation of pairs goes on to bitwise the set of one that was never killed") {
  KilledPairs set;
  const int threads = GENERATE(1, 2);
  set.options.threads = threads;
  set.die();
  CHECK(fs::exists(set.partial / "train-source-00002.bin"));
  set.options.threads = 3 - threads;
  double bytes = 0;
  const std::string words = said([&] { bytes = set.again(); });
  CHECK(has(words, "going on where a killed process stopped"));
  const double whole = set.check_whole();
  CHECK(bytes < 0.65 * whole);
  CHECK(bytes > 0.1 * whole);
  // The counts of the rules are whole, too, and each of those about pieces removed something.
  const ParallelDataset dataset(set.folder.path / "killed");
  const PairCounts& counts = dataset.description().origins[1].counts;
  CHECK(counts[PairRule::too_many_pieces] > 200);
  CHECK(counts[PairRule::duplicate] > 100);
  CHECK(counts.invalid > 150);
  std::uint64_t removed = 0;
  for (const std::uint64_t count : counts.removed) removed += count;
  CHECK(counts.read == counts.kept + removed);
}

TEST_CASE("Killed again and again, a preparation of pairs still ends with the same set") {
  KilledPairs set;
  for (const char* const death : {"Satz 3003", "Satz 5500", "Satz 8000", "Satz 11900"}) {
    set.die(death);
  }
  const double bytes = set.again();
  CHECK(bytes < 0.4 * set.check_whole());
}

TEST_CASE("Pairs of another command or corpus are not gone on with, and a line says why") {
  KilledPairs set;
  set.die();
  std::string why;
  SECTION("rules") {
    set.options.corpus.rules.longest_pieces = 31;
    why = "the set of rules was another";
  }
  SECTION("weights") {
    set.options.corpus.train[0].weight = 2;
    why = "the choice of sources was another";
  }
  SECTION("the validation set") {
    set.options.corpus.validation.reset();
    why = "the choice of sources was another";
  }
  SECTION("languages") {
    set.options.corpus.languages.target = "nl";
    why = "the pair of languages was another";
  }
  SECTION("a file that has other text with the old size and time") {
    const fs::path file = set.folder.path / "corpus.de";
    const auto time = fs::last_write_time(file);
    std::string text = read_file(file);
    text[21] = 's';
    write_text(file, text);
    fs::last_write_time(file, time);
    why = "the corpus is not what it was";
  }
  SECTION("a damaged shard") {
    const fs::path file = set.partial / "train-target-00001.bin";
    std::string shard = read_file(file);
    shard[shard.size() / 2] = static_cast<char>(shard[shard.size() / 2] ^ 1);
    write_text(file, shard);
    why = "train-target-00001.bin is damaged";
  }
  const std::string words = said([&] { set.again(); });
  CHECK(has(words, why));
  CHECK(has(words, "beginning anew"));
  set.check_whole();
}
