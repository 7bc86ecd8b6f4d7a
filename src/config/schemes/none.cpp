#include "config/schemes/none.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> none_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(NoneSettings, attention_scale,
                      {.range = at_least(0),
                       .help = "queries times 1 + this * ln(1 + floor((i + 1) / floor_scale)), so "
                               "that attention stays sharp in long texts (Llama 4: 0.1); 0: not"}),
      ROFORMER_OPTION(NoneSettings, floor_scale,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "attention_scale: queries grow at multiples of this (8192)"}),
      ROFORMER_OPTION(
          NoneSettings, scale,
          {.help = "none: scores are not divided by the root of the head's width, as in "
                   "T5's attention to the source (position.cross none); sqrt_d: as all "
                   "other schemes here"}),
  };
}

void check_none(const SchemeCheck& check) {
  const auto& none = check.options<NoneSettings>();
  if (none.attention_scale == 0) {
    if (none.floor_scale == NoneSettings().floor_scale) return;
    check.problem({check.option("floor_scale"), check.option("attention_scale")},
                  "there is no attention_scale that would use it", "choose one, Llama 4 has 0.1");
    return;
  }
  check_pairs_of_head(check);
  if (check.linear()) {
    check.problem({check.option("attention_scale"), "attention.kernel"},
                  "linear attention has no scores that a temperature would sharpen",
                  check.option("attention_scale") + ": 0");
  }
}

}  // namespace

SchemeDefinition define_none() {
  return {.facts = {.name = "none",
                    .family = "none",
                    .linear_attention = true,
                    .also_called = "nope no nopos no_positions",
                    .formula = "nothing; a causal mask alone tells positions apart",
                    .cost = "nothing",
                    .longer = "runs, degrades",
                    .paper = "Kazemnejad 2023 (NoPE)"},
          .options = none_options,
          .check = check_none};
}

}  // namespace roformer
