// `roformer explain` as a user meets it, on runs of a few steps.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "runs/tiny_translation.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

struct TrainedRun : TinyRun {
  explicit TrainedRun(const std::string& position, const std::vector<Override>& overrides = {})
      : TinyRun(position, overrides) {
    train_run(settings, ExistingRun::refuse);
  }
};

}  // namespace

TEST_CASE("explain of one text says no error where there is none") {
  const TrainedRun rope("rope");
  const fs::path folder = rope.folder.path / "explained";
  const Outcome one = run(
      {"explain", (rope.run() / ".").string(), "--output", folder.string(), "--sequences", "1"});
  CAPTURE(one.errors);
  REQUIRE(one.code == 0);
  const std::string page = read_file(folder / "report.html");
  CHECK_FALSE(has(page, "nan"));
  CHECK(has(page, rope.run().filename().string()));
}

TEST_CASE("explain writes a page and tables of one run and of two") {
  const TrainedRun rope("rope"), t5("t5", {{"run", "other"}});
  const fs::path folder = rope.folder.path / "explained";
  fs::create_directory(rope.folder.path / "mine");
  write_file_atomically(rope.folder.path / "mine" / "biases.csv", "mine");
  const Outcome refused =
      run({"explain", rope.run().string(), "--output", (rope.folder.path / "mine").string()});
  CHECK(refused.code != 0);
  CHECK(has(refused.errors, "an explanation and nothing else"));
  const Outcome one = run(
      {"explain", rope.run().string(), "--output", folder.string(), "--sequences", "6", "--json"});
  CAPTURE(one.errors);
  REQUIRE(one.code == 0);
  const auto json = nlohmann::json::parse(one.output);
  CHECK(json["runs"][0]["sequences"] == 6);
  CHECK(json["heads"].size() == 4);
  CHECK(json["ablations"].size() == 1 + 2 + 4);
  for (const auto& head : json["heads"]) {
    double sum = 0;
    for (const char* const share : {"content_content", "content_position", "position_content",
                                    "position_position", "interaction"}) {
      sum += head[share].get<double>();
      CHECK(head[std::string(share) + "_standard_error"].is_number());
    }
    for (const char* const figure : {"own", "entropy", "loss_without_positions"}) {
      CHECK(head[std::string(figure) + "_standard_error"].get<double>() > 0);
    }
    CHECK(sum == Approx(1).margin(1e-4));
  }
  CHECK(fs::exists(folder / "frequencies.csv"));
  CHECK(!fs::exists(folder / "biases.csv"));
  CHECK(has(read_file(folder / "report.html"), "Use of rotary frequencies"));
  CHECK(has(read_file(folder / "report.html"), "shares in % with their standard errors"));
  CHECK(has(read_file(folder / "distances.csv"), "mass,mass_standard_error,uniform\n"));
  CHECK(has(read_file(folder / "frequencies.csv"), "variance_share_standard_error\n"));

  CHECK(has(run({"explain", rope.run().string(), "--output", folder.string()}).errors,
            "--overwrite"));
  const Outcome two = run({"explain", rope.run().string(), t5.run().string(), "--output",
                           folder.string(), "--sequences", "6", "--without-losses", "--overwrite"});
  CAPTURE(two.errors);
  REQUIRE(two.code == 0);
  CHECK(has(two.output, "heads.csv"));
  REQUIRE(fs::exists(folder / "biases.csv"));
  CHECK(run({"explain", rope.run().string(), "--output", (folder / "short").string(), "--length",
             "1"})
            .code == 2);
  const std::string heads = read_file(folder / "heads.csv");
  CHECK(has(heads, "\ntiny,1,1,"));
  CHECK(has(heads, "\nother,1,1,"));
  CHECK(has(read_file(folder / "biases.csv"), "\nother,the layers,1,-31,"));
  const std::string page = read_file(folder / "report.html");
  CHECK(has(page, "tiny: Shares"));
  CHECK(has(page, "other: Bias of the layers"));
  CHECK(!has(page, "The loss without positions"));
}

TEST_CASE("explain shows both stacks of a translator") {
  const TinyTranslation pairs(60);
  train_run(pairs.settings(
                "run", {{"position", "t5"}, {"training.steps", "1"}, {"decoding.sentences", "2"}}),
            ExistingRun::refuse);
  const std::string trained = (pairs.folder.path / "runs" / "run").string();
  const fs::path folder = pairs.folder.path / "explained";
  const Outcome one =
      run({"explain", trained, "--output", folder.string(), "--sequences", "10", "--json"});
  CAPTURE(one.errors);
  REQUIRE(one.code == 0);
  const auto json = nlohmann::json::parse(one.output);
  CHECK(json["heads"].size() == 4);
  CHECK(json["heads"][3]["layer"] == "decoder 0");
  CHECK(json["ablations"].size() == 1 + 2 + 2 + 4);
  const std::string page = read_file(folder / "report.html");
  CHECK(has(page, "10 pairs of sentences ("));
  CHECK(has(page, "encoder layer 0, head 1"));
  CHECK(has(page, "Bias of the layers of the decoder"));
  CHECK(has(read_file(folder / "heads.csv"), "\nrun,encoder 0,1,"));
  const Outcome rows =
      run({"explain", trained, "--output", (folder / "rows").string(), "--length", "64"});
  CHECK(rows.code == 2);
  CHECK(has(rows.errors, "its texts are whole sentences"));
}

TEST_CASE("explain says in one line what it cannot do") {
  const TrainedRun tiny("learned", {{"position.learned.length", "32"}});
  const std::string folder = tiny.run().string();
  const auto refused = [&](std::vector<std::string> words, const std::string& why) {
    words.insert(words.begin(), "explain");
    words.insert(words.end(), {"--output", (tiny.folder.path / "explained").string()});
    const Outcome outcome = run(std::move(words));
    CAPTURE(outcome.errors);
    CHECK(outcome.code != 0);
    CHECK(has(outcome.errors, why));
  };
  refused({folder, folder}, "is the same run twice");
  refused({folder, folder, folder}, "3 runs are given");
  refused({folder, "--length", "64"}, "do not fit the 32 positions");
  refused({folder, "--split", "test"}, "has no test set");
  refused({folder, "--data", (tiny.folder.path / "nowhere").string()}, "nowhere");
  refused({(tiny.folder.path / "nowhere").string()}, "nowhere");
  refused({folder, "--checkpoint", "77"}, "77");
  fs::remove_all(tiny.data());
  refused({folder}, "the data that the run was trained on are not there");
}
