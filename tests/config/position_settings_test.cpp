#include "config/position_settings.h"

#include "catch.h"
#include "config/dump.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schemes/alibi.h"
#include "config/schemes/deberta.h"
#include "config/schemes/learned.h"
#include "config/schemes/rerope.h"
#include "config/schemes/rope.h"
#include "config/schemes/t5.h"
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

TEST_CASE("a scheme says how far its trained places reach, and whose weights it may be tried on") {
  PositionSettings position;
  const auto reach = [&](const std::string& scheme) {
    position.scheme = scheme;
    return trained_reach(position);
  };
  position.of<LearnedSettings>().length = 40;
  position.of<T5Settings>() = {.buckets = 32, .max_distance = 128};
  CHECK(reach("learned") == 40);
  CHECK(reach("t5") == 92);  // the last bucket of a side begins at a distance of 91
  CHECK(reach("tupe") == 512);
  CHECK(reach("shaw") == 17);
  CHECK(reach("deberta") == 512);
  position.of<DebertaSettings>() = {
      .index = DebertaIndex::code, .buckets = 256, .max_position = 512};
  CHECK(reach("deberta") == 513);  // keys 512 tokens away have a row in the released code
  CHECK(reach("music_transformer") == 512);
  for (const char* scheme : {"rope", "alibi", "sinusoidal", "none", "nezha", "no such scheme"}) {
    CAPTURE(scheme);
    CHECK(reach(scheme) == 0);
  }
  CHECK(may_be_tried_on("rope", "rope"));
  CHECK(may_be_tried_on("self_extend", "rope"));
  CHECK(may_be_tried_on("streaming", "alibi"));
  CHECK_FALSE(may_be_tried_on("alibi", "rope"));
  CHECK_FALSE(may_be_tried_on("rope", "rerope"));
  CHECK_FALSE(may_be_tried_on("none", "rope"));
}

TEST_CASE("a window that no row is as long as is told before a training") {
  Settings settings;
  settings.data.length = 64;
  CHECK(position_remarks(settings).empty());
  settings.position.scheme = "rerope";
  settings.position.of<ReropeSettings>().window = 64;
  CHECK(position_remarks(settings) ==
        std::vector<std::string>{"position.rerope.window 64 is not inside rows of 64 tokens: they "
                                 "are trained as with rope"});
  settings.stages.push_back({.length = 128});
  CHECK(position_remarks(settings).empty());
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
  CHECK(has(refusal([&] {
              load_settings(file, {{"attention.kernel", "favor"}, {"attention.features", "64"}});
            }),
            "64 are rotated"));
  CHECK(has(refusal([] {
              default_settings({{"task", "translation"},
                                {"position.cross", "rope"},
                                {"position.scaling", "dynamic_ntk"},
                                {"position.factor", "4"}});
            }),
            "different lengths"));
  CHECK(has(refusal([] {
              default_settings({{"task", "translation"},
                                {"attention.kernel", "elu"},
                                {"position.scaling", "dynamic_ntk"},
                                {"position.factor", "4"}});
            }),
            "linear attention does not keep them"));
  CHECK(has(refusal([] {
              default_settings({{"position.rope.short_factor", "[1]"}});
            }),
            "is for the scaling longrope only"));
  CHECK(has(refusal([] {
              default_settings({{"position.rope.proportion", "0.5"}});
            }),
            "only the scaling p_rope uses it"));
}

TEST_CASE("options of schemes that contradict each other are refused in words") {
  const auto refused = [](const std::string& scheme, std::vector<Override> options,
                          const std::string& task = "causal_lm") {
    for (Override& option : options) {
      if (option.key.find('.') == std::string::npos) option.key = "position." + option.key;
    }
    options.insert(options.begin(), {{"task", task}, {"position", scheme}});
    return refusal([&] { default_settings(options); });
  };
  CHECK(has(refused("fox", {}, "mlm"), "fox"));
  CHECK(has(refused("fox", {}, "mlm"), "causal"));
  CHECK(has(refused("fox", {{"longest_time", "99"}}), "trained gates begin at a half"));
  CHECK(has(refused("fox", {{"gates", "fixed"}, {"longest_time", "0.5"}}), "at least shortest"));
  CHECK(has(refused("fox", {{"rope_base", "0.5"}}), "wanted more than 1"));
  CHECK(has(refused("stick_breaking", {{"attend_current", "true"}, {"remainder", "value"}}),
            "has its share already"));
  CHECK(has(
      refused("stick_breaking", {{"attention.log_n", "query"}, {"attention.log_n_length", "64"}}),
      "log-n scaling is for the softmax"));
  CHECK(has(refused("none", {{"attention.log_n", "encoder"}, {"attention.log_n_length", "64"}}),
            "length of the whole text"));
  CHECK(has(refused("none", {{"floor_scale", "64"}}), "no attention_scale"));
  CHECK(has(refused("explicit_positions", {{"positions", "8"}, {"data.length", "16"}}),
            "texts have up to 16 tokens"));
  CHECK(has(refused("explicit_positions", {{"draw", "cape"}, {"form", "learned"}}),
            "between the rows"));
  CHECK(has(refused("explicit_positions", {{"draw", "shape"}, {"form", "noisy_alibi"}}),
            "draws distances"));
  CHECK(has(refused("explicit_positions", {{"form", "alibi"}}, "mlm"), "counts the past alone"));
  CHECK(has(refused("dape", {{"kernel", "4"}}), "an odd number"));
  CHECK(has(refused("dape", {{"kernel", "3"}, {"kind", "rope"}}), "there is no DAPE V2"));
  CHECK(has(refused("dape", {{"base", "500"}}), "for the kind rope only"));
  CHECK(has(refused("fope", {{"training_length", "5"}}), "no frequency completes 1 rotations"));
  CHECK(has(refused("fope", {{"fourier_dim", "33"}}), "pairs of features"));
  CHECK(has(refused("path", {{"gate_scaled", "false"}}), "no forget gate"));
  CHECK(refused("path", {{"gate_scaled", "false"}, {"forget_gate", "true"}}) == "no error");
  CHECK(refused("explicit_positions", {{"form", "noisy_alibi"}}, "mlm") == "no error");
}
