#include "config/schemes/stick_breaking.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> stick_breaking_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(StickBreakingSettings, attend_current,
                      {.help = "a token sees itself too; Tan 2025: only what precedes it"}),
      ROFORMER_OPTION(StickBreakingSettings, remainder,
                      {.help = "what the share that no key took goes to: none (the output is "
                               "smaller by it), value (the token's own value, as the authors' "
                               "tests have it) or head_bias (a trained vector of each head, as "
                               "dolomite-engine has it)"}),
  };
}

void check_stick_breaking(const SchemeCheck& check) {
  const auto& stick = check.options<StickBreakingSettings>();
  if (stick.attend_current && stick.remainder == StickRemainder::value) {
    check.problem({check.option("remainder"), check.option("attend_current")},
                  "with attend_current a token's own value has its share already",
                  check.option("attend_current") + ": false");
  }
  if (check.settings().attention.log_n != LogNScaling::none) {
    check.problem({"attention.log_n", check.choice()},
                  "log-n scaling is for the softmax, which stick_breaking has not",
                  "attention.log_n: none");
  }
}

}  // namespace

SchemeDefinition define_stick_breaking() {
  return {.facts = {.name = "stick_breaking",
                    .family = "weights",
                    .causal_only = true,
                    .also_called = "sba stickbreaking",
                    .formula = "A_ij = b_ij times all (1 - b_il) of j < l < i, b = sigmoid(S); no "
                               "softmax",
                    .cost = "a sum per row from the nearest key on, score matrix in memory",
                    .longer = "yes: keys far beyond the last taken share weigh nothing",
                    .paper = "Tan 2025, arXiv:2410.17980"},
          .options = stick_breaking_options,
          .check = check_stick_breaking};
}

}  // namespace roformer
