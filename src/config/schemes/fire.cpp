#include "config/schemes/fire.h"

#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> fire_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(FireSettings, hidden,
                      {.unit = "features",
                       .range = between(1, 65536),
                       .help = "width of the function's network (Li 2024: 32)"}),
      ROFORMER_OPTION(FireSettings, hidden_layers,
                      {.unit = "layers",
                       .range = between(1, 16),
                       .help = "1 in the paper's listing, 2 in its text"}),
      ROFORMER_OPTION(FireSettings, initial_length,
                      {.unit = "tokens",
                       .range = above(0),
                       .help = "starting threshold of the normaliser (L0 = 512)"}),
      ROFORMER_OPTION(FireSettings, epsilon, {.range = above(0), .help = "guard of the division"}),
  };
}

}  // namespace

SchemeDefinition define_fire() {
  return {.facts = {.name = "fire",
                    .family = "bias",
                    .shift_invariant = false,  // it divides by the query's position
                    .formula = "S_ij += MLP(ln(1 + c|i-j|) / ln(1 + c max(i, L0)))",
                    .cost = "a small network on L*L numbers, each layer",
                    .longer = "yes",
                    .paper = "Li 2024"},
          .options = fire_options};
}

}  // namespace roformer
