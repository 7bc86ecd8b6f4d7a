#include "config/schemes/kerple.h"

#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> kerple_options(const SchemeSection& section) {
  return {ROFORMER_OPTION(KerpleSettings, variant,
                          {.help = "-r1 ln(1 + r2 d) or -r1 d^r2 (Chi 2022)"})};
}

}  // namespace

SchemeDefinition define_kerple() {
  return {.facts = {.name = "kerple",
                    .family = "bias",
                    .formula = "S_ij -= r1 ln(1 + r2 |i - j|) or r1 |i - j|^r2, trained for each "
                               "head and layer",
                    .cost = "fused attention with a bias of each layer",
                    .longer = "yes",
                    .paper = "Chi 2022"},
          .options = kerple_options};
}

}  // namespace roformer
