#include "config/schemes/nezha.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> nezha_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(NezhaSettings, clip,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "larger distances share one vector (Wei 2019: 64)"}),
      ROFORMER_OPTION(NezhaSettings, base, wavelength_base()),
  };
}

void check_nezha(const SchemeCheck& check) {
  if (check.head_width() % 2 == 0) return;
  check.problem(
      {"model.heads", "model.width", check.choice()},
      fmt::format("nezha needs an even number of features a head, got {}", check.head_width()));
}

}  // namespace

SchemeDefinition define_nezha() {
  return {.facts = {.name = "nezha",
                    .family = "relative",
                    .formula = "Shaw's form with fixed sines and cosines of the clipped distance",
                    .cost = "as shaw",
                    .longer = "yes, distances are clipped",
                    .paper = "Wei 2019",
                    .held_against = "NEZHA"},
          .options = nezha_options,
          .check = check_nezha};
}

}  // namespace roformer
