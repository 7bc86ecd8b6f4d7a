#include "config/position_settings.h"

#include "catch.h"
#include "config/dump.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schemes/alibi.h"
#include "config/schemes/learned.h"
#include "config/schemes/rope.h"
#include "config/schemes/tupe.h"
#include "config/schemes/xpos.h"
#include "config_helpers.h"
#include "has.h"

using namespace roformer;

TEST_CASE("a scheme's options are at their defaults until they are set, and copies are apart") {
  PositionSettings one;
  const PositionSettings& read = one;
  CHECK(read.of<RopeSettings>().base == 10000);
  one.of<RopeSettings>().base = 5;
  CHECK(read.of<RopeSettings>().base == 5);
  PositionSettings two = one;
  two.of<RopeSettings>().base = 7;
  two.of<AlibiSettings>().trained = true;
  CHECK(read.of<RopeSettings>().base == 5);
  CHECK_FALSE(read.of<AlibiSettings>().trained);
  one = two;
  CHECK(read.of<RopeSettings>().base == 7);
  CHECK(read.of<AlibiSettings>().trained);
}

TEST_CASE("the chosen scheme says how many positions it has") {
  PositionSettings position;
  CHECK(maximal_length(position) == 0);
  position.scheme = "learned";
  position.of<LearnedSettings>().length = 40;
  CHECK(maximal_length(position) == 40);
  position.of<LearnedSettings>().hierarchical = true;
  CHECK(maximal_length(position) == 1600);
  position.scheme = "no such scheme";
  CHECK(maximal_length(position) == 0);
}

TEST_CASE("the chosen scheme is made to fit a length and a direction") {
  PositionSettings position;
  position.scheme = "tupe";
  fit_to(position, {.length = 700, .causal = true});
  CHECK(position.of<TupeSettings>().length == 700);
  CHECK(position.of<LearnedSettings>().length == 512);  // another scheme's
  fit_to(position, {.length = 5});
  CHECK(position.of<TupeSettings>().length == 700);
  position.scheme = "alibi";
  fit_to(position, {.length = 5});
  CHECK(position.of<AlibiSettings>().variant == AlibiVariant::symmetric);
  fit_to(position, {.length = 5, .causal = true});
  CHECK(position.of<AlibiSettings>().variant == AlibiVariant::causal);
}

TEST_CASE("a length that is the training's by default is written down") {
  PositionSettings position;
  keep_training_length(position, 64);
  CHECK(position.of<RopeSettings>().original_length == 0);  // nothing scales
  position.of<RopeSettings>().scaling = RopeScaling::yarn;
  keep_training_length(position, 64);
  keep_training_length(position, 128);
  CHECK(position.of<RopeSettings>().original_length == 64);
  position.scheme = "xpos";
  keep_training_length(position, 32);
  CHECK(position.of<XposSettings>().original_length == 32);
}

TEST_CASE("the rotated features of a head are whole pairs of the rounded share") {
  CHECK(rotary_share(0.3, 10) == 3);
  CHECK(rotary_width(0.3, 10) == 2);
  CHECK(rotary_width(0.25, 64) == 16);
  CHECK(rotary_width(1, 64) == 64);
}

TEST_CASE("lists of numbers are read from a file and a flag, and dumped to the same") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml",
                                 "model: {width: 8, heads: 2}\n"
                                 "position:\n"
                                 "  rope: {scaling: longrope, factor: 4, short_factor: [1, 1.5],\n"
                                 "         long_factor: [2, 3.25]}\n");
  const Settings settings = load_settings(file);
  CHECK(settings.position.of<RopeSettings>().short_factor == std::vector<double>{1, 1.5});
  CHECK(settings.position.of<RopeSettings>().long_factor == std::vector<double>{2, 3.25});
  folder.write("b.yaml", dump(settings, DumpStyle::commented));
  CHECK(load_settings(folder.path / "b.yaml").position.of<RopeSettings>().long_factor ==
        std::vector<double>{2, 3.25});
  const Settings flagged = load_settings(file, {{"position.rope.long_factor", "[ 5,6 ]"}});
  CHECK(flagged.position.of<RopeSettings>().long_factor == std::vector<double>{5, 6});
  const auto refused = [&](const std::string& list) {
    return refusal([&] { load_settings(file, {{"position.rope.long_factor", list}}); });
  };
  CHECK(has(refused("[5]"), "has 1 numbers, wanted one for each of 2 pairs"));
  CHECK(has(refused("[5, 0]"), "above 0"));
  CHECK(has(refused("5, 6"), "a list of numbers: [1, 1.5]"));
  CHECK(has(refusal([] {
              default_settings({{"position.rope.short_factor", "[1]"}});
            }),
            "is for the scaling longrope only"));
  CHECK(has(refusal([] {
              default_settings({{"position.rope.proportion", "0.5"}});
            }),
            "only the scaling p_rope uses it"));
}
