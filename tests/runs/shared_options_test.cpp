#include "runs/shared_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/dump.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schemes/rope.h"
#include "config/schemes/self_extend.h"
#include "temporary_folder.h"

namespace roformer {
namespace {

Settings trained(const std::vector<Override>& keys) {
  std::vector<Override> all = {{"task", "causal_lm"}, {"model.layers", "3"}};
  all.insert(all.end(), keys.begin(), keys.end());
  return default_settings(all);
}

// The settings with which the overrides are tried on such a model.
Settings tried(const std::vector<Override>& keys, const std::vector<Override>& overrides) {
  const TemporaryFolder folder;
  const Settings stored = trained(keys);
  write_file_atomically(folder.path / "config.yaml", dump(stored, DumpStyle::compact));
  return load_settings(folder.path / "config.yaml", with_shared_options(stored, overrides));
}

double base_of_layer(const Settings& settings, std::int64_t layer) {
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    if (std::ranges::find(part.layers, layer) == part.layers.end()) continue;
    return part.position.scheme == "rope" ? part.position.of<RopeSettings>().base
                                          : part.position.of<SelfExtendSettings>().base;
  }
  return 0;
}

}  // namespace

TEST_CASE("another scheme on trained weights keeps the options that both have") {
  const std::vector<Override> rope = {{"position.rope.base", "500"}};
  const Settings whole = tried(rope, {{"position", "self_extend"}});
  CHECK(whole.position.of<SelfExtendSettings>().base == 500);
  CHECK(tried(rope, {{"position", "self_extend"}, {"position.self_extend.base", "7"}})
            .position.of<SelfExtendSettings>()
            .base == 7);
  const Settings first = tried(rope, {{"position.layers", "{0: self_extend, others: rope}"}});
  CHECK(first.position.scheme == "layers");
  CHECK(base_of_layer(first, 0) == 500);
  CHECK(base_of_layer(first, 2) == 500);
  const Settings own =
      tried(rope, {{"position.layers", "{0: {scheme: self_extend, base: 9}, others: rope}"}});
  CHECK(base_of_layer(own, 0) == 9);
}

TEST_CASE("each layer keeps the options that it was trained with") {
  const std::vector<Override> mixed = {
      {"position.layers", "{0: none, 1: {scheme: rope, base: 500}, 2: {scheme: rope, base: 900}}"}};
  const Settings same = tried(mixed, {{"position.layers", "{0: none, others: self_extend}"}});
  CHECK(base_of_layer(same, 1) == 500);
  CHECK(base_of_layer(same, 2) == 900);
  CHECK_THROWS_WITH(tried(mixed, {{"position", "self_extend"}}),
                    Catch::Contains("has one base for all layers, and they were trained with 500 "
                                    "and 900"));
  const std::vector<Override> one = {
      {"position.layers", "{0: none, others: {scheme: rope, base: 500}}"}};
  CHECK(tried(one, {{"position", "self_extend"}}).position.of<SelfExtendSettings>().base == 500);
}

}  // namespace roformer
