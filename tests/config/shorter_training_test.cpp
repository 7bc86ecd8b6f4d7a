// Trainings that flags make shorter than their file has them.

#include <algorithm>

#include "catch.h"
#include "config/load.h"
#include "config_helpers.h"
#include "has.h"
#include "said.h"

using namespace roformer;

namespace {

Settings shorter(const std::filesystem::path& file, const std::string& steps) {
  return load_settings(file, {{"training.steps", steps}});
}

Settings smoke(const std::filesystem::path& file) {
  return load_settings(file, smoke_flags(load_settings(file)));
}

}  // namespace

TEST_CASE("a flag that makes a training shorter than its file's warm-up shortens that, too") {
  ConfigFolder folder;
  const auto steps = folder.write("a.yaml", "training: {steps: 5000, warmup: 400}\n");
  Settings settings;
  const std::string notice = said([&] { settings = shorter(steps, "2"); });
  CHECK(to_string(settings.training.warmup) == "1");
  CHECK(has(notice, "training.warmup is 1, a tenth of --training.steps 2: 400 ("));
  CHECK(has(notice, "a.yaml:1) does not fit"));
  CHECK(to_string(shorter(steps, "95").training.warmup) == "10");
  // Minutes cannot be compared with steps.
  CHECK(to_string(shorter(steps, "5min").training.warmup) == "0.5min");
  const auto tokens = folder.write("b.yaml", "training: {steps: 5Mt, warmup: 400kt}\n");
  CHECK(to_string(shorter(tokens, "1kt").training.warmup) == to_string(parse_period("100t")));
  // One that fits, or that is not known to be too long, stays.
  CHECK(said([&] { settings = shorter(steps, "401"); }).empty());
  CHECK(to_string(settings.training.warmup) == "400");
  CHECK(to_string(shorter(steps, "1e").training.warmup) == "400");
}

TEST_CASE("the decay of wsd is shortened with a training, too") {
  ConfigFolder folder;
  const auto file =
      folder.write("a.yaml", "training: {schedule: wsd, steps: 5000, warmup: 400, decay: 500}\n");
  Settings settings;
  const std::string notice = said([&] { settings = shorter(file, "200"); });
  CHECK(to_string(settings.training.decay) == "20");
  CHECK(has(notice, "; training.decay is 20, a tenth of --training.steps 200: 500 ("));
  CHECK(to_string(shorter(file, "1000").training.decay) == "500");
  CHECK(to_string(smoke(file).training.decay) == "1");
}

TEST_CASE("a warm-up that a flag or the file itself makes too long is refused as before") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", "training: {steps: 5000, warmup: 400}\n");
  CHECK(has(refusal([&] {
              load_settings(file, {{"training.steps", "2"}, {"training.warmup", "3"}});
            }),
            "3 is longer than the training (2)"));
  const auto wrong = folder.write("b.yaml", "training: {steps: 5, warmup: 6}\n");
  CHECK(has(refusal([&] { load_settings(wrong); }), "6 is longer than the training (5)"));
}

TEST_CASE("every shipped configuration trains for two steps") {
  for (const char* name : {"quickstart.yaml", "causal_lm/quickstart.yaml", "pretraining/small.yaml",
                           "translation/quickstart.yaml", "glue/base.yaml", "probe/small.yaml"}) {
    CAPTURE(name);
    CHECK(refusal([&] { shorter(std::filesystem::path(CONFIGS) / name, "2"); }) == "no error");
  }
}

TEST_CASE("a smoke run has two steps of every stage, and a name for itself") {
  ConfigFolder folder;
  const auto plain = folder.write("plain.yaml",
                                  "data: {length: 64}\n"
                                  "training: {steps: 3e, warmup: 0.1e, validate_every: 10}\n");
  const Settings two = smoke(plain);
  CHECK(two.run == "plain-smoke");
  CHECK(to_string(two.training.steps) == "2");
  CHECK(to_string(two.training.warmup) == "1");
  CHECK(two.training.validate_every.is_zero());
  CHECK(two.data.validation_tokens == 512);
  const auto staged = folder.write("staged.yaml",
                                   "training: {warmup: 200}\n"
                                   "stages:\n"
                                   "  - {steps: 5000, length: 64}\n"
                                   "  - {steps: 1000, warmup: 30, directory: other}\n");
  const Settings four = smoke(staged);
  CHECK(to_string(four.training.steps) == "4");
  REQUIRE(four.stages.size() == 2);
  CHECK(four.stages[0].length == 64);
  CHECK(four.stages[1].warmup == 2);
  CHECK(four.stages[1].directory == folder.path / "other");
  CHECK(has(refusal([&] { shorter(staged, "2"); }), "--smoke tries two steps of each"));
}
