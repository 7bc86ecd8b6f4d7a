#include "config/schemes/alibi.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> alibi_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(AlibiSettings, variant,
                      {.help = "causal (Press 2022); encoders: the same slopes on both sides "
                               "(symmetric) or own slopes left and right (asymmetric)"}),
      ROFORMER_OPTION(AlibiSettings, trained, {.help = "slopes of asymmetric are trained"}),
  };
}

void check_alibi(const SchemeCheck& check) {
  const auto& settings = check.options<AlibiSettings>();
  if (check.both_sides() && settings.variant == AlibiVariant::causal) {
    check.problem({check.option("variant"), check.choice(), "task"},
                  fmt::format("causal is for a model that looks to the left; the task {} looks to "
                              "both sides",
                              check.task()),
                  "symmetric or asymmetric");
  }
  if (settings.trained && settings.variant != AlibiVariant::asymmetric) {
    check.problem({check.option("trained"), check.option("variant"), check.choice()},
                  "only the slopes of variant asymmetric can be trained");
  }
}

void fit_alibi(PositionSettings& position, const SchemeUse& use) {
  if (use.causal) position.of<AlibiSettings>().variant = AlibiVariant::causal;
}

}  // namespace

SchemeDefinition define_alibi() {
  return {.facts = {.name = "alibi",
                    .family = "bias",
                    .also_called = "alibi_bias linear_bias linear_biases",
                    .formula = "S_ij -= m_h |i - j|, fixed slopes m_h",
                    .cost = "fused attention with a constant bias",
                    .longer = "yes",
                    .paper = "Press 2022",
                    .held_against = "BLOOM, MPT"},
          .options = alibi_options,
          .check = check_alibi,
          .fit = fit_alibi};
}

}  // namespace roformer
