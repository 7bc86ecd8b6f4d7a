#include "config/schemes/cope.h"

#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> cope_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(CopeSettings, positions,
                      {.unit = "positions",
                       .range = between(2, kLongest),
                       .help = "largest contextual position (Golovneva 2024: 64)"}),
      ROFORMER_OPTION(CopeSettings, scaled,
                      {.help = "divide the position's term by the root of the head's width, as "
                               "the released code does and the paper's listing does not"}),
  };
}

}  // namespace

SchemeDefinition define_cope() {
  return {.facts = {.name = "cope",
                    .family = "relative",
                    .causal_only = true,
                    .also_called = "contextual contextual_position",
                    .formula = "S_ij += q_i.e[p_ij], p_ij = gates sigmoid(S_it) summed over t = "
                               "j..i",
                    .cost = "1 product with npos rows, 2 score matrices in memory",
                    .longer = "yes, positions are cut at npos",
                    .paper = "Golovneva 2024"},
          .options = cope_options};
}

}  // namespace roformer
