#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"

using namespace roformer;

namespace {

const std::string kPaperConfig = std::string(CONFIGS) + "/pretraining/paper/bert-base.yaml";

}  // namespace

TEST_CASE("estimate prints parameters, arithmetic, memory and hours, and what it assumed") {
  const Outcome text = run({"estimate", kPaperConfig, "--vocabulary", "30522", "--device", "h100"});
  REQUIRE(text.code == 0);
  for (const char* part : {"masked language model, position learned, bf16 on h100",
                           "109,514,298: embeddings 23,", "64 rows of 512 at most, 32,768 tokens",
                           "100,000 steps, 3.28 G tokens", "memory", "activations ", "checkpoint",
                           "the nearest measured step is", "assumed     The data are not there"}) {
    CHECK_THAT(text.output, Catch::Contains(part));
  }
  const Outcome json = run({"estimate", kPaperConfig, "--vocabulary", "30522", "--device", "h200",
                            "--processes", "8", "--attention.dropout", "0", "--json"});
  const auto object = nlohmann::json::parse(json.output);
  CHECK(object["processes"] == 8);
  CHECK(object["steps"] == 100'000);
  CHECK(object["parameters"] == 109'514'298);
  CHECK(object["memory_bytes"]["weights"] == 4 * 109'514'298);
  CHECK(object["least_hours"] < object["hours"]);
  CHECK(object["efficiency"] < 1);
}

TEST_CASE("estimate refuses what it cannot estimate") {
  const Outcome study = run({"estimate", std::string(CONFIGS) + "/glue/paper.yaml"});
  CHECK(study.code == 2);
  CHECK_THAT(study.errors, Catch::Contains("is a study of several trainings"));
  const Outcome other =
      run({"estimate", kPaperConfig, "--vocabulary", "9", "--measure", "--device", "h100"});
  CHECK(other.code == 2);
  CHECK_THAT(other.errors, Catch::Contains("--measure: times steps on this machine"));
}

// configs/paper/README.md: below each command stands the row that it prints.
TEST_CASE("the table of the paper's experiments is what the commands beside it print") {
  const std::string page = read_file(std::string(CONFIGS) + "/paper/README.md");
  std::istringstream lines(page);
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("roformer estimate ")) continue;
    std::vector<std::string> words;
    std::istringstream rest(line.substr(std::string("roformer ").size()));
    for (std::string word; rest >> word && word != "#";) {
      words.push_back(word.starts_with("configs/") ? CONFIGS + word.substr(7) : word);
    }
    words.insert(words.end(), {"--format", "markdown"});
    const Outcome printed = run(words);
    CAPTURE(line, printed.errors);
    REQUIRE(printed.code == 0);
    const std::string row = lines_of(printed.output).back();
    CAPTURE(row);
    CHECK(has(page, "\n" + row + "\n"));
    ++commands;
  }
  CHECK(commands >= 10);
}
