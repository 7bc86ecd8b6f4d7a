// Triplets, their baseline, and a matcher's evaluation and predictions as a user meets them.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/tiny_chinese.h"

using namespace roformer;

TEST_CASE("a matcher is evaluated, compared and asked for predictions") {
  const TinyChinese tiny;
  const std::string triplets = (tiny.folder.path / "triplets").string();
  train_run(tiny.matching("one", {{"training.steps", "10e"}}), ExistingRun::refuse);
  train_run(tiny.matching("two", {{"training.steps", "1"}}), ExistingRun::refuse);
  const std::string one = tiny.run("one").string(), two = tiny.run("two").string();

  const Outcome text = run({"evaluate", one, "--split", "test", "--against", two});
  REQUIRE(text.code == 0);
  CHECK(has(text.output, "one standard error"));
  CHECK(has(text.output, "McNemar's test"));
  CHECK(has(text.output, "1 to 256 tokens"));
  const Outcome json = run({"evaluate", two, "--errors", "3", "--json"});
  REQUIRE(json.code == 0);
  const auto object = nlohmann::json::parse(json.output);
  CHECK(object["accuracy"]["low"] <= object["accuracy"]["accuracy"]);
  const auto wrong =
      object["accuracy"]["examples"].get<int>() - object["accuracy"]["right"].get<int>();
  CHECK(static_cast<int>(object.value("errors", nlohmann::json::array()).size()) ==
        std::min(wrong, 3));
  CHECK(has(run({"evaluate", one, "--output", "x"}).errors,
            "--output: is not for the run of a matcher"));
  CHECK(has(run({"evaluate", one, "--tokens", "5"}).errors, "--tokens: is not for"));
  CHECK(has(run({"evaluate", one, "--length", "8,16"}).errors, "is one number"));
  CHECK(has(run({"evaluate", one, "--length", "2"}).errors, "leaves no token of two texts"));
  const Outcome shorter = run({"evaluate", one, "--length", "8"});
  REQUIRE(shorter.code == 0);
  CHECK(has(shorter.output, "length 8"));

  // The same cases, drawn and divided in another way.
  const std::string again = (tiny.folder.path / "again").string();
  REQUIRE(run({"data", "triplets", (tiny.folder.path / "cases.jsonl").string(), "--topic-field",
               "casename", "--seed", "7", "--output", again})
              .code == 0);
  const Outcome divided = run({"evaluate", one, "--data", again});
  CHECK(divided.code == 2);
  CHECK(has(divided.errors, "differently"));

  const Outcome predicted = run({"predict", one, triplets + "/test.jsonl"});
  REQUIRE(predicted.code == 0);
  CHECK(predicted.output.starts_with("closer\tscore(A,B)\tscore(A,C)\n"));
  // What scores alike has no closer text, and is not right.
  const std::string ties = (tiny.folder.path / "ties" / "validation.jsonl").string();
  std::filesystem::create_directories(tiny.folder.path / "ties");
  std::ofstream(ties) << R"({"A": "原告", "B": "被告", "C": "被告"})"
                      << "\n";
  CHECK(has(run({"predict", one, ties}).output, "\nneither\t"));
  const Outcome tied =
      run({"evaluate", one, "--data", (tiny.folder.path / "ties").string(), "--json"});
  REQUIRE(tied.code == 0);
  CHECK(nlohmann::json::parse(tied.output)["ties"] == 1);
  CHECK(nlohmann::json::parse(tied.output)["accuracy"]["right"] == 0);
  CHECK(run({"predict", one}, read_file(triplets + "/test.jsonl")).output == predicted.output);
  CHECK(has(run({"predict", one}, "{}\n").errors, "standard input:1"));
  const std::string triplet = R"({"A": "原告", "B": "被告", "C": "被告"})"
                              "\n";
  CHECK(run({"predict", one}, triplet + "\n{\n" + triplet).code == 1);
  const Outcome gaps = run({"predict", one, "--skip-broken"}, triplet + "\n{\n" + triplet + "\n");
  REQUIRE(lines_of(gaps.output).size() == 5);
  CHECK((lines_of(gaps.output)[2].empty() && lines_of(gaps.output)[3].empty()));
  const std::string other = (tiny.folder.path / "test.txt").string();
  std::filesystem::copy_file(triplets + "/test.jsonl", other);
  CHECK(run({"predict", one, other, "--format", "jsonl"}).output == predicted.output);
  CHECK(has(run({"evaluate", one, "--against", one + "-gone"}).errors, "no such run"));
  std::ofstream(tiny.folder.path / "bad.jsonl") << R"({"A": "原告", "B": "被告"})";
  CHECK(
      has(run({"predict", one, (tiny.folder.path / "bad.jsonl").string()}).errors, "bad.jsonl:1"));
}

TEST_CASE("triplets and words are made by commands") {
  const TinyChinese tiny;
  const auto path = [&](const char* name) { return (tiny.folder.path / name).string(); };
  const Outcome made = run({"data", "triplets", path("cases.jsonl"), "--topic-field", "casename",
                            "--split", "3:1:1", "--per-text", "2", "--output", path("more")});
  REQUIRE(made.code == 0);
  CHECK(has(made.output, "validation"));
  CHECK(has(run({"data", "triplets", path("cases.jsonl"), "--output", path("x")}).errors,
            "cases.jsonl:1: has no text \"A\""));
  CHECK(has(run({"data", "triplets", path("cases.jsonl"), "--split", "3:1", "--output", path("x")})
                .errors,
            "6:2:2"));
  const Outcome baseline = run({"data", "baseline", path("more"), "--wordpiece", path("vocab.txt"),
                                "--dictionary", path("dict.txt")});
  REQUIRE(baseline.code == 0);
  CHECK(has(baseline.output, "test"));

  const Outcome counted = run({"tokenizer", "count", path("text.txt"), "--dictionary",
                               path("dict.txt"), "--pieces", "20", "--output", path("words")});
  REQUIRE(counted.code == 0);
  CHECK(has(counted.output, "words uncased"));
  CHECK(has(counted.output, "20 entries"));
  CHECK(run({"tokenizer", "info", path("words")}).code == 0);
  std::ofstream(path("bad.txt")) << "原告 3\n被告\n";
  const Outcome refused = run({"tokenizer", "count", path("text.txt"), "--dictionary",
                               path("bad.txt"), "--output", path("y")});
  CHECK(refused.code == 1);
  CHECK(has(refused.errors, "bad.txt:2"));
  CHECK_FALSE(std::filesystem::exists(path("y")));
}
