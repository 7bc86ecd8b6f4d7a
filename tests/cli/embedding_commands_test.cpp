// Embedders as a user meets them: vectors equal to sentence-transformers', import and export, a
// training that finds partners and goes on as if it had not stopped, evaluation and prediction.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

using Vectors = std::vector<std::vector<double>>;

const fs::path& fixture() {
  static const fs::path folder = fs::path(FIXTURES) / "embedding";
  return folder;
}

const nlohmann::json& expected() {
  static const auto document = nlohmann::json::parse(read_file(fixture() / "expected.json"));
  return document;
}

std::string sentences() {
  std::string lines;
  for (const auto& sentence : expected()["sentences"]) {
    lines += sentence.get<std::string>() + "\n";
  }
  return lines;
}

Vectors vectors_of(const Outcome& outcome) {
  REQUIRE(outcome.code == 0);
  Vectors vectors;
  for (const std::string& line : lines_of(outcome.output)) {
    vectors.push_back(nlohmann::json::parse(line)["vector"].get<std::vector<double>>());
  }
  return vectors;
}

double difference(const Vectors& a, const Vectors& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      largest = std::max(largest, std::abs(a[i][j] - b[i][j]));
    }
  }
  return largest;
}

// A folder with runs/st, imported from the fixture.
struct EmbeddingFolder : TemporaryFolder {
  EmbeddingFolder() {
    REQUIRE(run({"import", fixture().string(), "--runs", runs(), "--run", "st"}).code == 0);
  }
  std::string runs() const { return (path / "runs").string(); }
  std::string of(const std::string& name) const { return (path / "runs" / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  // Pairs of sentences about the same animal, place or colour.
  std::string pairs() const {
    std::string lines = "id,sentence1,sentence2\n";
    int id = 0;
    for (const char* animal : {"cat", "dog", "cats", "dogs"}) {
      for (const char* place : {"mat", "grass"}) {
        for (const char* colour : {"red", "green", "quick"}) {
          lines += std::to_string(++id) + ",\"the " + animal + " sat on the " + colour + " " +
                   place + ", \",a " + colour + " " + place + " . " + animal + "!\n";
        }
      }
    }
    return write("pairs.csv", lines);
  }
  Outcome train(const std::string& name, std::vector<std::string> more) const {
    std::vector<std::string> words = {"train",
                                      std::string(CONFIGS) + "/embedding/base.yaml",
                                      "--runs",
                                      runs(),
                                      "--run",
                                      name,
                                      "--model.from",
                                      of("st"),
                                      "--training.precision",
                                      "fp32",
                                      "--training.batch",
                                      "6",
                                      "--training.learning_rate",
                                      "0.01",
                                      "--model.dropout",
                                      "0",
                                      "--data.length",
                                      "20",
                                      "--training.schedule",
                                      "constant",
                                      "--training.warmup_ratio",
                                      "0"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  nlohmann::json figures(std::vector<std::string> words) const {
    words.insert(words.begin(), "evaluate");
    words.push_back("--json");
    const Outcome outcome = run(words);
    INFO(outcome.errors);
    REQUIRE(outcome.code == 0);
    return nlohmann::json::parse(outcome.output)["figures"];
  }
};

}  // namespace

TEST_CASE("vectors are those of sentence-transformers, from a folder, its run and its export") {
  const EmbeddingFolder folder;
  const Vectors mean = expected()["mean"], first = expected()["cls"];
  constexpr double kClose = 3e-6;
  Outcome direct;
  const std::string words = said([&] { direct = run({"embed", fixture().string()}, sentences()); });
  CHECK(has(words, "the mean of all tokens, normalised, texts of up to 12 tokens"));
  CHECK(has(words, "1 of 7 texts are longer than 12 tokens and were cut"));
  CHECK(difference(vectors_of(direct), mean) < kClose);
  CHECK(difference(vectors_of(run(
                       {"embed", fixture().string(), "--pooling", "first", "--normalize", "false"},
                       sentences())),
                   first) < kClose);
  CHECK(difference(vectors_of(run({"embed", folder.of("st")}, sentences())), mean) < kClose);

  const std::string out = (folder.path / "exported").string();
  const Outcome exported = run({"export", folder.of("st"), out});
  REQUIRE(exported.code == 0);
  CHECK(has(exported.output, "BertModel"));
  for (const char* file : {"modules.json", "1_Pooling/config.json", "sentence_bert_config.json"}) {
    CAPTURE(file);
    const auto json = [&](const fs::path& of) {
      return nlohmann::json::parse(read_file(of / file));
    };
    const auto theirs = json(fixture()), ours = json(out);
    CHECK(theirs == ours);
  }
  CHECK(difference(vectors_of(run({"embed", out}, sentences())), mean) < kClose);
}

TEST_CASE("embed reads lines and tables and writes the formats of vectors") {
  const EmbeddingFolder folder;
  const std::string table = folder.write("t.csv", "n,text\n1,\"the cat, red\"\n2,a dog\n");
  const std::string lines = folder.write("t.txt", "the cat, red\na dog\n");
  const std::string npy = (folder.path / "v.npy").string();
  const Outcome written =
      run({"embed", folder.of("st"), "--input", table, "--column", "text", "--output", npy});
  INFO(written.errors);
  REQUIRE(written.code == 0);
  CHECK(has(written.output, "2 vectors of 16 numbers"));
  CHECK(read_file(npy).size() == 128 + 2 * 16 * 4);
  CHECK(difference(vectors_of(run({"embed", folder.of("st"), "--input", table, "--column", "2"})),
                   vectors_of(run({"embed", folder.of("st"), "--input", lines}))) == 0);
  const Outcome tsv = run({"embed", folder.of("st"), "--input", lines, "--format", "tsv"});
  CHECK(lines_of(tsv.output).size() == 2);
  CHECK(has(run({"embed", folder.of("st"), "--input", table}).errors, "--column NAME"));
  CHECK(has(run({"embed", folder.of("st"), "--input", table, "--column", "txt"}).errors,
            "did you mean text"));
  CHECK(has(run({"embed", folder.of("st"), "--input", lines, "--format", "npy"}).errors,
            "cannot go to standard output"));
  CHECK(has(run({"embed", folder.of("st"), "--output", "v.bin"}).errors, "--format npy"));
  CHECK(has(run({"embed", folder.of("st"), "--length", "21"}, "a\n").errors, "20 positions"));
  CHECK(has(run({"embed", folder.of("st")}, "").errors, "has no texts"));
}

TEST_CASE("an embedder learns to find partners and goes on as if it had not stopped") {
  const EmbeddingFolder folder;
  const std::string pairs = folder.pairs();
  const std::vector<std::string> data = {"--data.train", pairs, "--data.validation_fraction",
                                         "0.3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), data.begin(), data.end());
    return more;
  };
  Outcome whole;
  const std::string words = said([&] {
    whole = folder.train("whole", with({"--training.steps", "150"}));
  });
  INFO(whole.errors);
  REQUIRE(whole.code == 0);
  CHECK(has(words, "exports as BertModel"));
  REQUIRE(folder.train("two", with({"--training.steps", "50"})).code == 0);
  REQUIRE(folder.train("two", with({"--training.steps", "150", "--resume"})).code == 0);
  const auto last = [&](const std::string& name) {
    return folder.figures({folder.of(name), "--checkpoint", "last"});
  };
  CHECK(last("whole") == last("two"));
  const auto before = folder.figures({folder.of("st"), "--data", pairs});
  const auto after = folder.figures({folder.of("whole"), "--data", pairs});
  CHECK(after["retrieval_accuracy"] > before["retrieval_accuracy"]);
  CHECK(after["mean_reciprocal_rank"] > 0.8);
  CHECK(after["loss"] < before["loss"]);

  Outcome text;
  const std::string warnings = said([&] {
    text = run({"evaluate", folder.of("whole"), "--data", pairs, "--against", folder.of("st"),
                "--errors", "2"});
  });
  CHECK(has(text.output, "McNemar's test"));
  CHECK(has(warnings, "is the file that the run was trained on"));
  CHECK(has(run({"evaluate", folder.of("whole"), "--split", "test"}).errors, "--data FILE"));
  // Another division of the same file is other data.
  CHECK(has(
      folder.train("two", {"--data.train", pairs, "--data.validation_fraction", "0.5", "--resume"})
          .errors,
      "does not hold the data that the run was started with"));

  const Outcome cosines = run({"predict", folder.of("whole")},
                              "the cat sat\tthe cat sat\n\nthe cat sat\ta green dog\n");
  REQUIRE(lines_of(cosines.output).size() == 4);
  CHECK(lines_of(cosines.output)[0] == "sentence1\tsentence2\tcosine");
  CHECK(lines_of(cosines.output)[1] == "the cat sat\tthe cat sat\t1.0000");
  CHECK(lines_of(cosines.output)[2].empty());
}

TEST_CASE("an embedder learns scores, and is ranked by their correlation") {
  const EmbeddingFolder folder;
  std::string lines = "index\tsentence1\tsentence2\tscore\n";
  const char* const texts[] = {"the cat sat on the mat", "a dog ran", "red grass .", "green mats!"};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      lines += std::to_string(4 * i + j) + "\t" + texts[i] + "\t" + texts[j] + "\t" +
               (i == j        ? "5.0"
                : (i + j) % 2 ? "1.5"
                              : "0.5") +
               "\n";
    }
  }
  const std::string file = folder.write("sts.tsv", lines);
  Outcome trained;
  const std::string words = said([&] {
    trained = folder.train("cosine", {"--data.train", file, "--data.validation", file,
                                      "--embedding.loss", "cosine", "--training.steps", "40"});
  });
  INFO(trained.errors);
  REQUIRE(trained.code == 0);
  CHECK(has(words, "scores are divided by 5, the highest"));
  CHECK(has(words, "16 of 16 validation examples are in the training, too"));
  const auto after = folder.figures({folder.of("cosine")});
  CHECK(after["spearman"] > folder.figures({folder.of("st"), "--data", file})["spearman"]);
  CHECK(after["spearman"] > 0.8);
  CHECK(!after.contains("retrieval_accuracy"));
  CHECK(has(
      run({"evaluate", folder.of("cosine"), "--errors", "1", "--against", folder.of("st")}).output,
      "cosine and score farthest apart in rank"));
  CHECK(has(said([&] {
              folder.train("warned", {"--data.train", file, "--data.validation", file,
                                      "--training.steps", "1"});
            }),
            "takes every pair as a match, whatever its score"));
}

TEST_CASE("what an embedder cannot be trained on is refused in one line") {
  const EmbeddingFolder folder;
  const auto refusal = [&](const std::string& name, const std::string& text,
                           std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--data.train", folder.write(name, text), "--training.steps", "1"});
    return folder.train("refused", more).errors;
  };
  CHECK(has(refusal("a.csv", "q,a\nx,y\n"), "--embedding.text [A,B]; its columns: q, a"));
  CHECK(has(refusal("b.csv", "q,a\nx,y\n", {"--embedding.text", "[q,b]"}), "has no column \"b\""));
  CHECK(has(refusal("c.csv", "q,a\nx,y\n", {"--embedding.text", "q"}), "got one column, q"));
  CHECK(has(refusal("c.csv", "q,a\nx,y\n", {"--embedding.text", "[q,q]"}), "\"q\" twice"));
  CHECK(has(folder
                .train("refused", {"--data.train", folder.pairs(), "--training.steps", "1",
                                   "--data.validation_fraction", "0.3", "--training.batch", "1"})
                .errors,
            "no text to tell a partner from"));
  CHECK(has(refusal("d.csv", "sentence1,sentence2\na,\n"), "d.csv:2: \"sentence2\" is empty"));
  CHECK(has(refusal("e.csv", "sentence1,sentence2\na,b\n", {"--embedding.loss", "cosine"}),
            "has no column \"score\""));
  CHECK(
      has(refusal("f.csv", "sentence1,sentence2,score\na,b,high\n", {"--embedding.loss", "cosine"}),
          "the score is \"high\", wanted a number"));
  CHECK(has(refusal("g.csv", "sentence1,sentence2,score\na,b,-3\na,c,2\n",
                    {"--embedding.loss", "cosine", "--data.validation",
                     folder.write("v.csv", "sentence1,sentence2,score\na,b,1\n")}),
            "scores from -3 to 2"));
  CHECK(has(refusal("h.csv", "sentence1,sentence2\na,b\n"), "is for"));
  CHECK(
      has(refusal("i.csv", "anchor,positive,negative\na,b,c\n",
                  {"--embedding.loss", "cosine", "--embedding.text", "[anchor,positive,negative]"}),
          "compares two texts"));
  CHECK(!fs::exists(folder.of("refused")));
}

TEST_CASE("folders of sentence-transformers with other modules are refused in one line") {
  const TemporaryFolder copy;
  const auto with = [&](const std::string& file, const std::string& text) {
    fs::remove_all(copy.path / "st");
    fs::copy(fixture(), copy.path / "st", fs::copy_options::recursive);
    std::ofstream(copy.path / "st" / file) << text;
    std::string errors;
    const std::string words = said([&] {
      errors = run({"embed", (copy.path / "st").string()}, "a\n").errors;
    });
    return errors + words;
  };
  const std::string transformer = R"([{"idx":0,"path":"","type":"x.Transformer"},)";
  CHECK(has(with("modules.json", transformer + R"({"path":"2_Dense","type":"x.models.Dense"}])"),
            "has a module \"Dense\", which this program does not have"));
  CHECK(has(with("modules.json", R"([{"path":"","type":"x.Transformer"}])"),
            "has no module Pooling"));
  CHECK(has(with("modules.json", transformer + R"({"path":"../up","type":"x.Pooling"}])"),
            "a folder inside this one"));
  CHECK(has(with("1_Pooling/config.json", R"({"pooling_mode": "max"})"), "pools by \"max\""));
  CHECK(has(with("1_Pooling/config.json",
                 R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})"),
            "pools by \"cls+mean\""));
  CHECK(has(with("config_sentence_transformers.json", R"({"default_prompt_name": "query"})"),
            "puts its prompt \"query\" before every text"));
}
