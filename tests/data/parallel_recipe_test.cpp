#include "data/parallel_recipe.h"

#include "catch.h"
#include "pair_fixture.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRecipe =
    "name: sample\nlanguages: [en, de]\n"
    "train:\n  - {source: raw/a.en, target: raw/a.de, weight: 2}\n  - {pairs: raw/b.tsv}\n"
    "validation: {source: raw/a.en, target: raw/a.de, reference: raw/a.de}\n"
    "test_fraction: 0.1\n"
    "rules: {shortest_words: 2, longest_words: 80, longest_pieces: 250, length_ratio: 1.5,\n"
    "        remove_identical: true, remove_duplicates: true, script_share: 0.8}\n"
    "vocabulary: {kind: unigram, pieces: 500, joint: false}\n";

fs::path write_recipe(const fs::path& folder, const std::string& text) {
  for (const char* const file : {"a.en", "a.de", "b.tsv"}) write_text(folder / "raw" / file, "x\n");
  write_text(folder / "recipe.yaml", text);
  return folder / "recipe.yaml";
}

}  // namespace

TEST_CASE("A recipe of sentence pairs says where they come from and what they must pass") {
  const TemporaryFolder folder;
  const fs::path path = write_recipe(folder.path, kRecipe);
  CHECK(is_parallel_recipe(path));
  const ParallelRecipe recipe = read_parallel_recipe(path);
  const ParallelCorpus& corpus = recipe.corpus;
  CHECK(corpus.languages.target == "de");
  REQUIRE(corpus.train.size() == 2);
  CHECK(corpus.train[0].target == folder.path / "raw" / "a.de");
  CHECK(corpus.train[0].weight == 2);
  CHECK(corpus.train[1].format == PairFormat::tsv);
  CHECK(corpus.train[1].source == folder.path / "raw" / "b.tsv");
  CHECK(corpus.validation->reference == folder.path / "raw" / "a.de");
  CHECK_FALSE(corpus.test);
  CHECK(corpus.test_fraction == 0.1);
  CHECK(corpus.rules.shortest_words == 2);
  CHECK(corpus.rules.longest_words == 80);
  CHECK(corpus.rules.longest_pieces == 250);
  CHECK(corpus.rules.length_ratio == 1.5);
  CHECK(corpus.rules.remove_identical);
  CHECK(corpus.rules.remove_duplicates);
  CHECK(corpus.rules.script_share == 0.8);
  CHECK(recipe.vocabulary->training.algorithm == SentencePieceAlgorithm::unigram);
  CHECK(recipe.vocabulary->training.pieces == 500);
  CHECK_FALSE(recipe.vocabulary->joint);
}

TEST_CASE("All that is wrong with a recipe of pairs is said at once") {
  const TemporaryFolder folder;
  const fs::path path =
      write_recipe(folder.path,
                   "name: x\nlanguages: [en]\ntrain:\n  - {source: raw/a.en}\n"
                   "  - {pairs: raw/b.tsv, format: aligned}\n  - {pairs: raw/b.tsv, wieght: 2}\n"
                   "validation: {pairs: raw/b.tsv, weight: 2}\n"
                   "rules: {length_ratio: -1, longest: 3}\nvocabulary: {kind: words}\n");
  const std::string text = error_of([&] { read_parallel_recipe(path); });
  const auto at = [&](int line) { return path.string() + ":" + std::to_string(line) + ": "; };
  for (const std::string& part :
       {at(2) + "languages: wanted two languages", at(4) + "train: names no pairs",
        at(5) + "train: format aligned takes two", at(6) + "train.wieght: unknown key",
        at(7) + "validation.weight: unknown key", at(8) + "rules.length_ratio: got",
        at(8) + "rules.longest: unknown key", at(9) + "vocabulary.kind: 'words' is not known",
        at(9) + "vocabulary.pieces: is missing"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CAPTURE(text);
  CHECK_FALSE(is_parallel_recipe(write_recipe(folder.path, "name: x\nfiles: [raw]\n")));
  write_recipe(folder.path, kRecipe);
  fs::remove(folder.path / "raw" / "a.de");
  CHECK(error_of([&] { read_parallel_recipe(path); }).find("its raw files are not there") !=
        std::string::npos);
}

TEST_CASE("Files on a command line are taken two and two, files of pairs alone") {
  const std::vector<PairSource> sources =
      pair_sources_of({"a.en", "a.de", "b.tsv", "c.en.gz", "c.de.gz", "d.tmx.xz"});
  REQUIRE(sources.size() == 4);
  CHECK(sources[0].target == "a.de");
  CHECK(sources[1].format == PairFormat::tsv);
  CHECK(sources[2].source == "c.en.gz");
  CHECK(sources[3].target.empty());
  CHECK(error_of([] { pair_sources_of({"a.en"}); }).starts_with("a.en: has no partner"));
  CHECK(error_of([] { pair_sources_of({"a.en", "b.tsv"}); }).starts_with("a.en: has no partner"));
}
