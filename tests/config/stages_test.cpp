#include "config/data_lists.h"

#include "catch.h"
#include "config/dump.h"
#include "config/load.h"
#include "config_helpers.h"
#include "has.h"

using namespace roformer;

TEST_CASE("stages are a list in a file, and one line as a flag and in a dump") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml",
                                 "data: {length: 1536}\n"
                                 "stages:\n"
                                 "  - {steps: 200k, length: 512, batch: 8, accumulation: 32}\n"
                                 "  - steps: 12500\n"
                                 "    learning_rate: 1e-5\n"
                                 "    warmup: 100\n"
                                 "    directory: ../o'ther\n");
  const Settings settings = load_settings(file);
  REQUIRE(settings.stages.size() == 2);
  CHECK(settings.stages[0].steps == 200'000);
  CHECK(settings.stages[0].length == 512);
  CHECK(settings.stages[0].accumulation == 32);
  CHECK_FALSE(settings.stages[0].learning_rate);
  CHECK_FALSE(settings.stages[1].length);
  CHECK(settings.stages[1].learning_rate == 1e-5);
  CHECK(settings.stages[1].directory == (folder.path / "../o'ther").lexically_normal());
  CHECK(to_string(settings.training.steps) == "212500");
  CHECK(total_steps(settings.stages) == 212'500);
  // The dump reads back to the same.
  folder.write("b.yaml", dump(settings, DumpStyle::commented));
  CHECK(load_settings(folder.path / "b.yaml").stages == settings.stages);
  CHECK(default_settings({{"stages", "[{steps: 5}, {steps: 6}]"}}).training.steps.amount == 11);
  // What is extended says another number of steps, and a flag takes the stages away.
  const auto longer = folder.write("c.yaml", "extends: d.yaml\nstages: [{steps: 5}]\n");
  folder.write("d.yaml", "training: {steps: 8Mt}\n");
  CHECK(to_string(load_settings(longer).training.steps) == "5");
  CHECK(load_settings(longer, {{"stages", ""}, {"training.steps", "7"}}).training.steps.amount ==
        7);
}

TEST_CASE("stages that are none are refused with their number and what is wrong") {
  const auto refused = [](const std::string& stages, const std::vector<Override>& more = {}) {
    std::vector<Override> all = {{"stages", stages}};
    all.insert(all.end(), more.begin(), more.end());
    return refusal([&] { default_settings(all); });
  };
  CHECK(has(refused("[{steps: 5}, {length: 64}]"), "stage 2: steps: is missing"));
  CHECK(has(refused("[{steps: 5, lenght: 64}]"), "did you mean length"));
  CHECK(has(refused("[{steps: five}]"), "stage 1: steps: got \"five\", wanted an integer"));
  CHECK(has(refused("[{steps: 5, warmup: 6}]"), "at most its 5 steps"));
  CHECK(has(refused("5"), "a list of stages"));
  CHECK(has(refused("[5]"), "stage 1: got \"5\", wanted"));
  CHECK(has(refused("[{steps: 5, length: 256}]", {{"data.length", "128"}}),
            "stage 1 has rows of 256 tokens"));
  CHECK(has(refused("[{steps: 5}]", {{"training.steps", "9"}}), "have 5 steps together"));
  CHECK(has(refused("[{steps: 5}]", {{"training.warmup", "1e"}}), "counted in steps"));
  CHECK(has(refused("[{steps: 5}]", {{"task", "glue"}}), "does not use it"));
  // A table of positions is made for data.length, the longest.
  CHECK(has(refused("[{steps: 5, length: 256}]",
                    {{"data.length", "256"}, {"position", "learned"}, {"position.length", "128"}}),
            "128"));
}

TEST_CASE("a key's former name is read in files of older runs") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", "data: {masking: {whole_word: true}}\n");
  CHECK(load_settings(file).data.masking.whole_words);
}

TEST_CASE("sources are a list in a file, and one line as a flag and in a dump") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml",
                                 "data:\n"
                                 "  directory: main\n"
                                 "  sources:\n"
                                 "    - {directory: o'ther, weight: 2.5}\n"
                                 "    - directory: main\n");
  const Settings settings = load_settings(file);
  REQUIRE(settings.data.sources.size() == 2);
  CHECK(settings.data.sources[0].directory == folder.path / "o'ther");
  CHECK(settings.data.sources[0].weight == 2.5);
  CHECK(settings.data.sources[1].directory == settings.data.directory);
  CHECK(settings.data.sources[1].weight == 1);
  folder.write("b.yaml", dump(settings, DumpStyle::commented));
  CHECK(load_settings(folder.path / "b.yaml").data.sources == settings.data.sources);

  const auto refused = [](const std::string& sources, const std::vector<Override>& more = {}) {
    std::vector<Override> all = {{"data.sources", sources}};
    all.insert(all.end(), more.begin(), more.end());
    return refusal([&] { default_settings(all); });
  };
  CHECK(has(refused("[{directory: a}, {weight: 2}]"), "source 2: directory: is missing"));
  CHECK(has(refused("[{directory: a, weight: -1}]"),
            "source 1: weight: got \"-1\", wanted a number above 0"));
  CHECK(has(refused("[{directory: a, wieght: 1}]"), "did you mean weight"));
  CHECK(has(refused("a"), "a list of sources"));
  CHECK(has(refused("[{directory: a}]", {{"task", "glue"}}), "does not use it"));
}
