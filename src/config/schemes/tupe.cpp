#include "config/schemes/tupe.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> tupe_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(TupeSettings, length, table_length()),
      ROFORMER_OPTION(TupeSettings, relative,
                      {.help = "with T5's bias (TUPE-R) or without (TUPE-A; Ke 2021)"}),
      ROFORMER_OPTION(TupeSettings, untie_cls,
                      {.help = "[CLS], the first token, has no position (Ke 2021, 3.2)"}),
      ROFORMER_OPTION(TupeSettings, norm, {.help = "LayerNorm of the table, as the authors' code"}),
      ROFORMER_OPTION(
          TupeSettings, norm_epsilon,
          {.range = above(0), .help = "added to the variance in that LayerNorm (1e-5)"}),
      ROFORMER_OPTION(TupeSettings, buckets, bucket_count()),
      ROFORMER_OPTION(TupeSettings, max_distance, bucket_distance()),
  };
}

void check_tupe(const SchemeCheck& check) {
  const auto& settings = check.options<TupeSettings>();
  check_table(check, settings.length);
  if (settings.relative) check_buckets(check, settings.buckets, settings.max_distance);
}

}  // namespace

SchemeDefinition define_tupe() {
  return {.facts = {.name = "tupe",
                    .family = "bias",
                    .shift_invariant = false,
                    .formula = "S_ij = q_i.k_j / sqrt(2D) + (p_i U).(p_j V) / sqrt(2D) [+ T5's "
                               "bias], [CLS] untied",
                    .cost = "a bias of H*L*L once for all layers",
                    .longer = "refused beyond the table",
                    .paper = "Ke 2021"},
          .options = tupe_options,
          .check = check_tupe,
          .maximal_length = table_positions<TupeSettings>,
          .trained_reach = table_positions<TupeSettings>,
          .fit = fit_table<TupeSettings>};
}

}  // namespace roformer
