// Pairs and triplets read from tables, and a lone file divided by its first texts.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/error.h"
#include "catch.h"
#include "data/embedding_examples.h"
#include "temporary_folder.h"

using namespace roformer;
using Catch::Contains;

namespace {

struct Table : TemporaryFolder {
  std::filesystem::path file;
  Settings settings;

  Table(const std::string& name, const std::string& text) : file(path / name) {
    std::ofstream(file) << text;
    settings.task = TaskKind::embedding;
    settings.data.train = file;
  }
  EmbeddingExamples read(ScoresOfFile scores = ScoresOfFile::not_read) const {
    return read_embedding_examples(file, settings, scores);
  }
};

}  // namespace

TEST_CASE("pairs are read by well-known names, each text once") {
  const Table table("a.tsv", "id\tsentence1\tsentence2\tscore\n1\ta \"b\tc\t2.5\n2\tc\ta \"b\t0\n");
  const EmbeddingExamples read = table.read(ScoresOfFile::if_there);
  CHECK(read.texts == std::vector<std::string>{"a \"b", "c"});
  REQUIRE(read.examples.size() == 2);
  CHECK(read.examples[1].first == 1);
  CHECK(read.examples[1].second == 0);
  CHECK(read.examples[0].score == 2.5);
  CHECK((read.scored && !read.triplets && !read.ignores_scores));
  CHECK(table.read().ignores_scores);
  CHECK(score_scale(read, "a.tsv") == 2.5);
}

TEST_CASE("triplets are read from JSON Lines and from columns by number") {
  const Table lines("a.jsonl", R"({"anchor": "a", "positive": "b", "negative": "c"})"
                               "\n");
  const EmbeddingExamples read = lines.read();
  CHECK(read.triplets);
  CHECK(read.examples.front().negative == 2);
  Table numbered("a.csv", "x,\"a, b\",c\n");
  numbered.settings.data.header = false;
  numbered.settings.embedding.text = {"2", "3"};
  CHECK(numbered.read().texts == std::vector<std::string>{"a, b", "c"});
  Table scored("b.jsonl", R"({"sentence1": "a", "sentence2": "b", "score": 0.25})"
                          "\n");
  CHECK(scored.read(ScoresOfFile::needed).examples.front().score == 0.25);
}

TEST_CASE("a lone file is divided by its first texts") {
  std::string lines = "sentence1,sentence2\n";
  constexpr int kTexts = 200, kEach = 3;
  for (int i = 0; i < kTexts * kEach; ++i) {
    lines += "text " + std::to_string(i % kTexts) + ",other " + std::to_string(i) + "\n";
  }
  const Table table("a.csv", lines);
  const auto training = read_embedding_split(table.settings, Split::train),
             validation = read_embedding_split(table.settings, Split::validation);
  CHECK(training.examples.size() + validation.examples.size() == kTexts * kEach);
  CHECK(validation.examples.size() > 0.04 * kTexts * kEach);
  CHECK(validation.examples.size() < 0.2 * kTexts * kEach);
  std::set<std::string> known;
  for (const EmbeddingExample& one : training.examples) {
    known.insert(training.texts[static_cast<std::size_t>(one.first)]);
  }
  for (const EmbeddingExample& one : validation.examples) {
    CHECK(!known.contains(validation.texts[static_cast<std::size_t>(one.first)]));
  }
  // A division does not depend on the other examples.
  const Table part("b.csv", lines.substr(0, lines.size() / 2));
  CHECK(read_embedding_split(part.settings, Split::train).texts.front() == training.texts.front());
}

TEST_CASE("scores become cosines by the highest, or stay") {
  EmbeddingExamples examples{.examples = {{.score = -0.5}, {.score = 1}}};
  CHECK(score_scale(examples, "f") == 1);
  examples.examples[1].score = 4;
  CHECK_THROWS_WITH(score_scale(examples, "f"), Contains("f has scores from -0.5 to 4"));
}
