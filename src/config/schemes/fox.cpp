#include "config/schemes/fox.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> fox_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(
          FoxSettings, gates,
          {.help = "trained: a projection of each token; bias_only: a trained number "
                   "of each head; fixed: that number as it begins (an ALiBi with slopes "
                   "by time)"}),
      ROFORMER_OPTION(FoxSettings, rope_base,
                      {.range = at_least(0),
                       .help = "rotate q and k by this base too, in halves; 0: no rotation (Lin "
                               "2025; their option has 500000)"}),
      ROFORMER_OPTION(
          FoxSettings, shortest_time,
          {.unit = "tokens",
           .range = above(0),
           .help = "bias_only, fixed: the first head's scores fall by 1 in this many tokens"}),
      ROFORMER_OPTION(FoxSettings, longest_time,
                      {.unit = "tokens",
                       .range = above(0),
                       .help = "bias_only, fixed: the last head's scores fall by 1 in this many "
                               "tokens; the times between are spaced evenly in the logarithm"}),
  };
}

void check_fox(const SchemeCheck& check) {
  const auto& fox = check.options<FoxSettings>();
  if (fox.rope_base > 0) check_pairs_of_head(check);
  if (fox.rope_base > 0 && fox.rope_base <= 1) {
    check.problem({check.option("rope_base")},
                  fmt::format("got {}, wanted more than 1, or 0 for no rotation", fox.rope_base));
  }
  const FoxSettings defaults;
  const bool timed =
      fox.shortest_time != defaults.shortest_time || fox.longest_time != defaults.longest_time;
  if (timed && fox.gates == ForgetGates::trained) {
    check.problem(
        {check.option("shortest_time"), check.option("longest_time"), check.option("gates")},
        "trained gates begin at a half and have no times", check.option("gates") + ": bias_only");
  }
  if (fox.longest_time < fox.shortest_time) {
    check.problem({check.option("longest_time"), check.option("shortest_time")},
                  fmt::format("got {}, wanted at least shortest_time ({})", fox.longest_time,
                              fox.shortest_time));
  }
}

}  // namespace

SchemeDefinition define_fox() {
  return {.facts = {.name = "fox",
                    .family = "bias",
                    .causal_only = true,
                    .also_called = "forgetting forgetting_transformer",
                    .formula = "S_ij += ln f_j+1 + .. + ln f_i, f_l = sigmoid(x_l W_f + b_f) of "
                               "each head",
                    .cost = "1 number a token and head, subtracted by rows inside attention",
                    .longer = "yes, far tokens are forgotten",
                    .paper = "Lin 2025 (FoX), arXiv:2503.02130"},
          .options = fox_options,
          .check = check_fox};
}

}  // namespace roformer
