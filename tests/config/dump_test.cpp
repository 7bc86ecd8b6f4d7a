#include "config/dump.h"

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "catch.h"
#include "config/assignment.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/schemes/t5.h"
#include "config/yaml_file.h"
#include "config_helpers.h"
#include "has.h"

using namespace roformer;

namespace {

std::string random_text(const Key& key, Random& random) {
  const auto from = [&](const std::vector<std::string>& texts) {
    return texts[random.below(texts.size())];
  };
  switch (key.type) {
    case KeyType::boolean:
      return from({"true", "false"});
    case KeyType::word:
      return from(key.words);
    case KeyType::period:
      return from({"500", "3e", "0.25e", "20Mt", "1234t", "90min", "0"});
    case KeyType::text:
      return from({"plain", "with \"quotes\" and \\", "#5: yes", "null", "1e3", "ärger", ""});
    case KeyType::path:
      return from({"/a/b c", "relative/x", "~/#x", "", "/tmp/\"q\""});
    case KeyType::list:
      return from({"", "[{steps: 5}]",
                   "[{steps: 7, length: 64, learning_rate: 0.001}, {steps: 2k, batch: 4, "
                   "accumulation: 3, warmup: 1, directory: '/it''s #a b'}]"});
    case KeyType::integer:
      return std::to_string(static_cast<std::int64_t>(std::max(key.range.low, 0.0) +
                                                      static_cast<double>(random.below(1000))));
    case KeyType::number: {
      const double low = std::max(key.range.low, 0.0);
      const double high = std::min(key.range.high, 1e6);
      return print_number(low + (high - low) * random.uniform());
    }
  }
  return "";
}

// Reads a file without the checks across keys, which random settings do not pass.
Settings read_unchecked(const std::filesystem::path& file) {
  Problems problems;
  const YamlFile yaml = read_yaml_file(file, problems);
  problems.throw_if_any();
  Settings settings;
  for (const Assignment& assignment : yaml.assignments) {
    find_key(assignment.key)->set(settings, assignment.text, assignment.folder);
  }
  return settings;
}

}  // namespace

TEST_CASE("random settings survive dump and load in both styles") {
  ConfigFolder folder;
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    Settings settings;
    for (const Key& key : schema()) {
      if (random.uniform() < 0.5) continue;
      const std::string text = random_text(key, random);
      CAPTURE(key.name, text);
      try {
        key.set(settings, text, "");
      } catch (const InvalidValue&) {  // beyond the range: the default stays
      }
    }
    for (const DumpStyle style : {DumpStyle::commented, DumpStyle::compact}) {
      const auto file = folder.write("deep/er/dump.yaml", dump(settings, style));
      CHECK(diff(read_unchecked(file), settings) == std::vector<std::string>{});
    }
  }
}

TEST_CASE("a dump is itself a good configuration") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", dump(default_settings({{"position", "alibi"}})));
  const Settings again = load_settings(file);
  CHECK(diff(again, default_settings({{"position", "alibi"}, {"run", "a"}})).empty());
}

TEST_CASE("a dump holds no command for a terminal, and reads back to what held one") {
  ConfigFolder folder;
  const std::string foreign =
      "/a\x1b[2J\xc2\x9b"
      "31m\xe2\x80\xae\"\\b";
  Settings staged = default_settings({{"data.directory", foreign + " c"}, {"model.from", foreign}});
  staged.stages = {{.steps = 5, .directory = foreign}};
  staged.training.steps.amount = 5;
  const std::string text = dump(staged);
  for (const char* bad : {"\x1b", "\xc2\x9b", "\xe2\x80\xae"}) CHECK_FALSE(has(text, bad));
  const Settings again = load_settings(folder.write("a.yaml", text));
  CHECK(again.data.directory == foreign + " c");
  CHECK(again.model.from == foreign);
  CHECK(again.stages.at(0).directory == foreign);
}

TEST_CASE("a dump explains each key and leaves out what has no say") {
  Settings settings;
  const std::string text = dump(settings);
  CHECK(has(text,
            "  # Transformer blocks (BERT base: 12). Unit: layers. [integer from 1 to 1000; "
            "default 4]\n  layers: 4\n"));
  CHECK(has(text, "    layout: interleaved\n"));
  CHECK_FALSE(has(text, "buckets"));
  CHECK_FALSE(has(text, "\nglue:"));
  settings.task = TaskKind::glue;
  settings.position.of<T5Settings>().buckets = 64;  // not the chosen scheme's, but set
  CHECK(has(dump(settings), "\nglue:"));
  CHECK(has(dump(settings), "buckets: 64"));
  for (const char* line : {"#", "help"}) CHECK_FALSE(has(dump(settings, DumpStyle::compact), line));
}

TEST_CASE("JSON holds numbers, truth values and texts under nested keys") {
  const auto json = to_json(default_settings({{"training.steps", "3e"}}));
  CHECK(json["model"]["layers"] == 4);
  CHECK(json["model"]["freeze_embeddings"] == false);
  CHECK(json["training"]["learning_rate"] == 1e-3);
  CHECK(json["training"]["steps"] == "3e");
  CHECK(json["position"]["scheme"] == "rope");
  CHECK(json["seed"].is_number_unsigned());
}

TEST_CASE("diff names the keys whose values differ") {
  const Settings left = default_settings();
  const Settings right = default_settings({{"model.layers", "6"}, {"position", "none"}});
  CHECK(diff(left, right) == std::vector<std::string>{"model.layers", "position.scheme"});
}
