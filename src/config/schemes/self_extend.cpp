#include "config/schemes/self_extend.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> self_extend_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(SelfExtendSettings, layout, rotary_layout("the released code has half")),
      ROFORMER_OPTION(SelfExtendSettings, base, wavelength_base()),
      ROFORMER_OPTION(SelfExtendSettings, group,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "far positions that count as one (Jin 2024: 8)"}),
      ROFORMER_OPTION(SelfExtendSettings, window,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "distances below it stay as they are (Jin 2024: 1024)"}),
      ROFORMER_OPTION(SelfExtendSettings, shift,
                      {.help = "whether window / group, by which far queries are moved, is rounded "
                               "down"}),
  };
}

}  // namespace

SchemeDefinition define_self_extend() {
  return {.facts = {.name = "self_extend",
                    .family = "rotary",
                    .causal_only = true,
                    .shift_invariant = false,  // groups have fixed places
                    .rotary = true,
                    .tried_on = "rope",
                    .also_called = "selfextend longlm",
                    .formula = "as rope below a window W, beyond it of the distance "
                               "floor(i/G) + W - W/G - floor(j/G)",
                    .cost = "a second score product for far pairs, score matrix in memory",
                    .longer = "yes: of a model that was trained with rope",
                    .paper = "Jin 2024, arXiv:2401.01325"},
          .options = self_extend_options,
          .check = check_pairs_of_head};
}

}  // namespace roformer
