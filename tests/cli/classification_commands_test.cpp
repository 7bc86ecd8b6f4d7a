// A classifier of a user's labels from a CSV file to an export, as the user meets it.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/tiny_glue.h"
#include "said.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// The words of TinyGlue with labels of the user's: the colour decides.
struct TinyReviews {
  TinyGlue glue{"sst2"};
  fs::path folder = glue.folder.path;
  fs::path train = folder / "train.csv", dev = folder / "dev.csv", config = folder / "c.yaml";

  TinyReviews() {
    std::string rows = "id,body,topic\n";
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const char* animal : {"cat", "dog", "owl", "fox"}) {
        for (const char* colour : {"red", "blue", "pink", "gold"}) {
          const std::string topic = *colour == 'r' || *colour == 'b' ? "warm, cold" : "other";
          rows += std::to_string(repeat) + ",\"the " + animal + " is " + colour + " .\",\"" +
                  (std::string(colour) == "gold" ? "metal" : topic) + "\"\n";
        }
      }
    }
    std::ofstream(train) << rows;
    std::ofstream(dev) << rows;
    std::ofstream(config) << "task: classification\n"
                             "threads: 1\n"
                             "data: {length: 16}\n"
                             "tokenizer: {file: vocab.txt}\n"
                             "classification: {text: body, label: topic, head_dropout: 0}\n"
                             "model: {layers: 1, width: 32, heads: 2, feed_forward: 64, dropout: 0,"
                             " initialization: 0.1, token_types: 2}\n"
                             "position: {scheme: learned, learned: {length: 16}}\n"
                             "training: {steps: 20e, batch: 8, learning_rate: 3e-3, "
                             "validate_every: 10e, save_every: 0, precision: fp32}\n";
  }

  Outcome trained(const std::string& name, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {
        "train",  config.string(),           "--data.train", train.string(), "--run", name,
        "--runs", (folder / "runs").string()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  std::string run_of(const std::string& name) const { return (folder / "runs" / name).string(); }
};

}  // namespace

TEST_CASE("a CSV file makes a classifier that is evaluated, predicts and is exported") {
  const TinyReviews tiny;
  const std::string log = said([&] {
    REQUIRE(tiny.trained("a", {"--data.validation", tiny.dev.string()}).code == 0);
  });
  CHECK(has(log, "3 classes in train.csv: \"metal\" 12, \"other\" 12"));
  const auto record = nlohmann::json::parse(read_file(tiny.run_of("a") + "/run.json"));
  CHECK(record["data"]["classes"] == nlohmann::json::array({"metal", "other", "warm, cold"}));

  SECTION("evaluate gives figures, classes and confusion") {
    const std::string chart = (tiny.folder / "page.html").string();
    const Outcome text = run({"evaluate", tiny.run_of("a"), "--errors", "2", "--chart", chart});
    INFO(text.errors);
    REQUIRE(text.code == 0);
    CHECK(has(text.output, "is \\ predicted"));
    CHECK(has(text.output, "macro F1"));
    CHECK(has(read_file(chart), "predicted class"));
    const auto json =
        nlohmann::json::parse(run({"evaluate", tiny.run_of("a"), "--json"}).output)["evaluations"];
    REQUIRE(json.size() == 1);
    CHECK(json[0]["figures"]["accuracy"] == 1.0);
    CHECK(json[0]["confusion"] == nlohmann::json::parse("[[12,0,0],[0,12,0],[0,0,24]]"));
    const Outcome other = run({"evaluate", tiny.run_of("a"), "--data", tiny.train.string(),
                               "--against", tiny.run_of("a"), "--json"});
    CHECK(nlohmann::json::parse(other.output)["evaluations"][0]["against"]["both_right"] == 48);
  }
  SECTION("predict returns the columns of its input, with the label and its probabilities") {
    const auto lines = lines_of(run({"predict", tiny.run_of("a"), tiny.dev.string()}).output);
    REQUIRE(lines.size() == 49);
    CHECK(lines[0] == "id,body,topic,predicted,p(metal),p(other),\"p(warm, cold)\"");
    CHECK(lines[1].starts_with("0,the cat is red .,\"warm, cold\",\"warm, cold\",0."));
    const auto plain = lines_of(run({"predict", tiny.run_of("a")}, "the owl is gold .\n").output);
    REQUIRE(plain.size() == 2);
    CHECK(plain[0] == "text\tpredicted\tp(metal)\tp(other)\tp(warm, cold)");
    CHECK(plain[1].starts_with("the owl is gold .\tmetal\t0."));
    const Outcome json = run({"predict", tiny.run_of("a")}, "{\"body\": \"the fox is pink .\"}\n");
    CHECK(nlohmann::json::parse(json.output)["predicted"] == "other");
    CHECK(nlohmann::json::parse(json.output)["probabilities"].contains("warm, cold"));
  }
  SECTION("an export names the classes, and its import is the same classifier") {
    const fs::path folder = tiny.folder / "export";
    REQUIRE(run({"export", tiny.run_of("a"), folder.string()}).code == 0);
    const auto config = nlohmann::json::parse(read_file(folder / "config.json"));
    CHECK(config["architectures"][0] == "BertForSequenceClassification");
    CHECK(config["id2label"]["2"] == "warm, cold");
    const Outcome imported =
        run({"import", folder.string(), "--run", "b", "--runs", (tiny.folder / "runs").string()});
    INFO(imported.errors);
    REQUIRE(imported.code == 0);
    CHECK(lines_of(run({"predict", tiny.run_of("b")}, "the owl is gold .\n").output) ==
          lines_of(run({"predict", tiny.run_of("a")}, "the owl is gold .\n").output));
  }
  SECTION("a run starts from it with the classes in another order") {
    const std::string next = said([&] {
      REQUIRE(tiny.trained("c", {"--model.from", tiny.run_of("a"), "--training.steps", "1",
                                 "--classification.classes", "[\"warm, cold\", metal, other]"})
                  .code == 0);
    });
    CHECK(has(next, "new: none"));
  }
}

TEST_CASE("a classifier resumes exactly, and refuses changed data") {
  const TinyReviews tiny;
  REQUIRE(tiny.trained("whole").code == 0);
  REQUIRE(tiny.trained("parts", {"--training.steps", "10e"}).code == 0);
  const Outcome rest = run({"train", "--resume", tiny.run_of("parts"), "--training.steps", "20e"});
  INFO(rest.errors);
  REQUIRE(rest.code == 0);
  std::ofstream(tiny.train, std::ios::app) << "9,the cat is red .,new\n";
  const Outcome changed =
      run({"train", "--resume", tiny.run_of("parts"), "--training.steps", "30e"});
  CHECK(changed.code != 0);
  CHECK(has(changed.errors, "train.csv"));
}

TEST_CASE("wrong columns and labels are refused in one line before anything is written") {
  const TinyReviews tiny;
  const Outcome text = tiny.trained("a", {"--classification.text", "bodi"});
  CHECK(text.code == 2);
  CHECK(has(text.errors, "has no column \"bodi\" (hint: did you mean body"));
  const Outcome label = tiny.trained("a", {"--classification.label", "id2"});
  CHECK(label.code == 2);
  std::ofstream(tiny.dev) << "body,topic\nthe cat is red .,unknown\n";
  const Outcome unknown = tiny.trained("a", {"--data.validation", tiny.dev.string()});
  CHECK(has(unknown.errors, "dev.csv:2: got label \"unknown\", wanted one of metal, other, warm"));
  CHECK_FALSE(fs::exists(tiny.run_of("a")));
}

TEST_CASE("several labels for each text, and numbers") {
  const TinyReviews tiny;
  std::string labels = "text,labels,score\n";
  for (int i = 0; i < 5; ++i) {
    labels +=
        "the cat is red .,cat|red,1\nthe dog is red .,dog|red,2\nthe cat is blue .,cat,3\n"
        "the dog is blue .,dog,4\n";
  }
  std::ofstream(tiny.train) << labels;
  const std::vector<std::string> columns = {"--classification.text", "text", "--data.validation",
                                            tiny.train.string()};
  std::vector<std::string> multi = columns;
  multi.insert(multi.end(), {"--classification.label", "labels", "--classification.kind", "multi",
                             "--classification.class_weights", "balanced"});
  REQUIRE(tiny.trained("multi", multi).code == 0);
  const auto found = nlohmann::json::parse(
      run({"evaluate", tiny.run_of("multi"), "--json"}).output)["evaluations"][0];
  CHECK(found["figures"]["micro_f1"].get<double>() == 1);
  const auto line = lines_of(run({"predict", tiny.run_of("multi")}, "the dog is red .\n").output);
  CHECK(line.back().starts_with("the dog is red .\tdog|red\t0."));
  // A file with other names of columns.
  const fs::path other = tiny.folder / "other.csv";
  std::ofstream(other) << "the text,what\nthe dog is red .,dog|red\n";
  CHECK(run({"predict", tiny.run_of("multi"), other.string()}).code == 2);
  const Outcome named =
      run({"predict", tiny.run_of("multi"), other.string(), "--classification.text", "the text"});
  CHECK(named.errors.empty());
  CHECK(has(named.output, "the dog is red .,dog|red,dog|red,"));
  CHECK(run({"evaluate", tiny.run_of("multi"), "--data", other.string(), "--classification.text",
             "the text", "--classification.label", "what"})
            .code == 0);
  // A line in, a line out, and a field "probabilities" of the input is replaced.
  const auto answers = lines_of(
      run({"predict", tiny.run_of("multi")}, "the dog is red .\n\nthe cat is blue .\n").output);
  REQUIRE(answers.size() == 4);
  CHECK(answers[2].empty());
  CHECK(answers[3].starts_with("the cat is blue .\tcat\t"));
  const auto replaced =
      lines_of(run({"predict", tiny.run_of("multi"), "--json"},
                   "{\"text\": \"the dog is red .\", \"probabilities\": [1]}\n\n"
                   "{\"text\": \"the dog is red .\", \"probabilities\": {\"x\": 1}}\n")
                   .output);
  REQUIRE(replaced.size() == 3);
  CHECK(replaced[1].empty());
  CHECK(replaced[0] == replaced[2]);
  CHECK(nlohmann::json::parse(replaced[0])["probabilities"].size() == 3);
  const fs::path folder = tiny.folder / "export";
  REQUIRE(run({"export", tiny.run_of("multi"), folder.string()}).code == 0);
  CHECK(nlohmann::json::parse(read_file(folder / "config.json"))["problem_type"] ==
        "multi_label_classification");
  std::vector<std::string> regression = columns;
  regression.insert(regression.end(), {"--classification.label", "score", "--classification.kind",
                                       "regression", "--training.steps", "60e"});
  const Outcome scores = tiny.trained("scores", regression);
  INFO(scores.errors);
  REQUIRE(scores.code == 0);
  const auto json = nlohmann::json::parse(
      run({"evaluate", tiny.run_of("scores"), "--json"}).output)["evaluations"][0];
  CHECK(json["figures"]["spearman"].get<double>() > 0.9);
}
