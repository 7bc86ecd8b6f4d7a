// Schemes and attention layer by layer.
#include "config/layer_map.h"

#include "catch.h"
#include "config/attention_settings.h"
#include "config/dump.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/schemes/layers.h"
#include "config/schemes/rope.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

using Owners = std::vector<std::int64_t>;

Owners owners(const std::string& text, std::int64_t layers) {
  return entries_of_layers(parse_layer_map(text), layers);
}

std::string refusal_of_flags(std::vector<Override> flags) {
  try {
    default_settings(flags);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void check_layers_say(const std::string& said, const std::string& part) {
  INFO(said);
  CHECK(has(said, part));
}

}  // namespace

TEST_CASE("keys of layers are numbers, ranges, steps and the others") {
  CHECK(owners("{0-2: a, 3: b}", 4) == Owners{0, 0, 0, 1});
  CHECK(owners("3-last/4: b, others: a", 8) == Owners{1, 1, 1, 0, 1, 1, 1, 0});
  CHECK(owners("{\"0, 2-3\": a}", 4) == Owners{0, -1, 0, 0});
  CHECK(owners("{1-last: a}", 3) == Owners{-1, 0, 0});
  CHECK(print_layer_map(parse_layer_map("0-1: {window: 4, log_n: query}, \"2,3\": x")) ==
        "{0-1: {window: 4, log_n: query}, \"2,3\": x}");
  CHECK_THROWS_AS(owners("{0-4: a}", 4), InvalidValue);
  CHECK_THROWS_AS(owners("{4-last: a}", 4), InvalidValue);
  CHECK_THROWS_AS(owners("{0-2: a, 2: b}", 4), InvalidValue);
  CHECK_THROWS_AS(parse_layer_map("{2-1: a}"), InvalidValue);
  CHECK_THROWS_AS(parse_layer_map("{3/2: a}"), InvalidValue);
  CHECK_THROWS_AS(parse_layer_map("{first: a}"), InvalidValue);
  CHECK_THROWS_AS(parse_layer_map("{0: a, 0: b}"), InvalidValue);
}

TEST_CASE("a mixture of schemes is one line, and one that cannot be is refused") {
  const Settings settings =
      default_settings({{"position.layers", "{0-2: rope, 3: {scheme: t5, buckets: 8}}"}});
  CHECK(settings.position.scheme == "layers");
  const auto parts = scheme_parts(settings.position, 4);
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].position.scheme == "t5");
  CHECK(parts[1].layers == Owners{3});
  CHECK(uses_scheme(settings.position, "rope"));
  CHECK_FALSE(uses_scheme(settings.position, "alibi"));
  const auto says = [](std::vector<Override> flags, const std::string& words) {
    check_layers_say(refusal_of_flags(std::move(flags)), words);
  };
  says({{"position.layers", "{0-2: rope}"}}, "layer 3 has none");
  says({{"position.layers", "{0-3: rope, 2: none}"}}, "layer 2 is in 0-3 and in 2");
  says({{"position.layers", "{0-4: rope}"}}, "names layer 4, the model has 4");
  says({{"position.layers", "{0: sinusoidal, 1: learned, others: none}"}},
       "sinusoidal and learned both add to the one embedding");
  says({{"position.layers", "{0: roep, others: none}"}}, "did you mean rope");
  says({{"position.layers", "{0: layers, others: none}"}}, "a scheme of one layer");
  says({{"position.layers", "{0: {scheme: rope, buckets: 3}, others: none}"}}, "it has no buckets");
  says({{"position.layers", "{0: alibi, others: rope}"}, {"attention.kernel", "elu"}},
       "no scores that alibi could change");
  says({{"position.layers", "{0: cope, others: rope}"}}, "cope looks only to the left");
  // One scheme in all layers under its own checks.
  says({{"position.layers", "{0-3: {scheme: t5, buckets: 7}}"}}, "multiple of");
}

TEST_CASE("options of the mixed schemes stay with a run") {
  const TemporaryFolder folder;
  const auto file = folder.path / "run.yaml";
  write_file_atomically(file,
                        "position:\n  layers: {3-last/4: none, others: rope}\n"
                        "  rope: {base: 50000}\n");
  const Settings settings = load_settings(file);
  CHECK(scheme_parts(settings.position, 4)[0].position.of<RopeSettings>().base == 50000);
  write_file_atomically(file, dump(settings, DumpStyle::compact));
  CHECK(diff(load_settings(file), settings).empty());
}

TEST_CASE("attention differs by layer where it is said") {
  const auto attention = [](const std::string& text) {
    return attention_of_layers(default_settings({{"attention.layers", text}}).attention, 4);
  };
  const auto layers = attention("{0-1: {window: 128}, 3: {kernel: elu}}");
  CHECK(layers[1].window == 128);
  CHECK(layers[2].window == 0);
  CHECK(layers[3].kernel == AttentionKernel::elu);
  const auto says = [](std::vector<Override> flags, const std::string& words) {
    check_layers_say(refusal_of_flags(std::move(flags)), words);
  };
  says({{"attention.layers", "{0: {windw: 3}}"}}, "did you mean window");
  says({{"attention.layers", "{0: 128}"}}, "got 128");
  says({{"attention.layers", "{7: {window: 3}}"}}, "the model has 4");
  says({{"attention.layers", "{0: {window: -3}}"}}, "window as");
  says({{"attention.layers", "{0: {kernel: elu}}"}, {"position", "alibi"}},
       "no scores that alibi could change");
  says(
      {{"attention.layers", "{0: {kernel: elu}}"}, {"position.layers", "{0: none, others: alibi}"}},
      "accepted");
}
