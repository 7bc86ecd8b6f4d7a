#include "config/schemes/music_transformer.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> music_transformer_options(const SchemeSection& section) {
  return {ROFORMER_OPTION(MusicTransformerSettings, length, table_length())};
}

void check_music_transformer(const SchemeCheck& check) {
  check_table(check, check.options<MusicTransformerSettings>().length);
}

}  // namespace

SchemeDefinition define_music_transformer() {
  return {.facts = {.name = "music_transformer",
                    .family = "relative",
                    .also_called = "music relative_global",
                    .formula = "S_ij += q_i.E[j - i] / sqrt(D), a table for each head",
                    .cost = "1 product with L rows, on GPUs a score matrix in memory",
                    .longer = "refused beyond the table",
                    .paper = "Huang 2018"},
          .options = music_transformer_options,
          .check = check_music_transformer,
          .maximal_length = table_positions<MusicTransformerSettings>,
          .trained_reach = table_positions<MusicTransformerSettings>,
          .fit = fit_table<MusicTransformerSettings>};
}

}  // namespace roformer
