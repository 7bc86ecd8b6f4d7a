#include "config/schemes/dape.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> dape_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(DapeSettings, kind,
                      {.help = "positions beside the scores: a bias of alibi or kerple, or "
                               "rotations (rope: the network sees the scores alone)"}),
      ROFORMER_OPTION(
          DapeSettings, kernel,
          {.unit = "keys",
           .range = between(1, 63),
           .help =
               "1: each pair alone (DAPE); an odd number of neighbouring keys: "
               "DAPE V2 (3), which generates without a cache: each token needs the whole text"}),
      ROFORMER_OPTION(DapeSettings, width,
                      {.unit = "features",
                       .range = between(1, 4096),
                       .help = "width of the network's hidden layer (Zheng 2024: 32)"}),
      ROFORMER_OPTION(
          DapeSettings, slope,
          {.range = between(0, 1), .help = "slope of its LeakyReLU below zero (Zheng 2024: 0.01)"}),
      ROFORMER_OPTION(DapeSettings, base, wavelength_base()),
  };
}

void check_dape(const SchemeCheck& check) {
  const auto& dape = check.options<DapeSettings>();
  if (dape.kernel % 2 == 0) {
    check.problem(
        {check.option("kernel")},
        fmt::format("got {}, wanted an odd number: as many keys on both sides", dape.kernel));
  }
  if (dape.kernel > 1 && task_facts(check.settings().task).has_decoder) {
    check.problem(
        {check.option("kernel"), check.choice(), "task"},
        "DAPE V2 needs the whole text for each token, which a translator's search does not have",
        check.option("kernel") + ": 1");
  }
  if (dape.kind == DapeKind::rope) {
    check_pairs_of_head(check);
    if (dape.kernel > 1) {
      check.problem({check.option("kernel"), check.option("kind")},
                    fmt::format("got {}, but with rotations there is no DAPE V2 (the authors' own "
                                "class for it cannot run)",
                                dape.kernel),
                    check.option("kernel") + ": 1");
    }
  }
  if (dape.base != DapeSettings().base && dape.kind != DapeKind::rope) {
    check.problem({check.option("base"), check.option("kind")}, "is for the kind rope only");
  }
}

}  // namespace

SchemeDefinition define_dape() {
  return {.facts = {.name = "dape",
                    .family = "bias",
                    .causal_only = true,
                    .formula = "S = A + b + f(A, b), f a network of two layers across the heads at "
                               "each pair",
                    .cost = "4 L^2 (2H + H) w operations a text, 2 score matrices in memory",
                    .longer = "yes: the bias follows the text",
                    .paper = "Zheng 2024, arXiv:2405.14722; V2 arXiv:2410.04798"},
          .options = dape_options,
          .check = check_dape};
}

}  // namespace roformer
