#include "config/schemes/transformer_xl.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> transformer_xl_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(TransformerXlSettings, base, wavelength_base()),
      ROFORMER_OPTION(
          TransformerXlSettings, clamp,
          {.unit = "tokens",
           .range = between(0, kLongest),
           .help = "larger distances count as this one (the authors' clamp_len); 0: none"}),
      ROFORMER_OPTION(TransformerXlSettings, untie,
                      {.help = "the biases u and w belong to each layer (the authors' untie_r) "
                               "instead of all together"}),
  };
}

void check_transformer_xl(const SchemeCheck& check) {
  const std::int64_t width = check.settings().model.width;
  if (width % 2 == 0) return;
  check.problem({"model.width", check.choice()},
                fmt::format("transformer_xl needs an even number, got {}", width));
}

}  // namespace

SchemeDefinition define_transformer_xl() {
  return {.facts = {.name = "transformer_xl",
                    .family = "relative",
                    .also_called = "txl xl transfo_xl",
                    .formula = "S_ij = ((q_i + u).k_j + (q_i + w).(R_{i-j} W)) / sqrt(D)",
                    .cost = "1 product with 2L-1 rows, on GPUs a score matrix in memory",
                    .longer = "yes",
                    .paper = "Dai 2019, 3.3"},
          .options = transformer_xl_options,
          .check = check_transformer_xl};
}

}  // namespace roformer
