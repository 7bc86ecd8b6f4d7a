#include "config/schemes/sandwich.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> sandwich_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(SandwichSettings, base, wavelength_base()),
      ROFORMER_OPTION(SandwichSettings, width,
                      {.unit = "features",
                       .range = between(2, 65536),
                       .help = "width of the sinusoids that are multiplied (Chi 2023: 128)"}),
  };
}

void check_sandwich(const SchemeCheck& check) {
  const std::int64_t width = check.options<SandwichSettings>().width;
  if (width % 2 == 0) return;
  check.problem({check.option("width")}, fmt::format("got {}, wanted an even number", width));
}

}  // namespace

SchemeDefinition define_sandwich() {
  return {.facts = {.name = "sandwich",
                    .family = "bias",
                    .formula = "S_ij += c_h sum_t cos((i - j) theta_t)",
                    .cost = "fused attention with a constant bias",
                    .longer = "yes",
                    .paper = "Chi 2023"},
          .options = sandwich_options,
          .check = check_sandwich};
}

}  // namespace roformer
