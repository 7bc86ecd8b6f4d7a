#include "config/schemes/music_transformer.h"

#include <algorithm>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> music_transformer_options(const SchemeSection& section) {
  return {ROFORMER_OPTION(MusicTransformerSettings, length, table_length())};
}

std::int64_t music_transformer_positions(const PositionSettings& position) {
  return position.of<MusicTransformerSettings>().length;
}

void check_music_transformer(const SchemeCheck& check) {
  check_table(check, music_transformer_positions(check.position()));
}

void fit_music_transformer(PositionSettings& position, const SchemeUse& use) {
  std::int64_t& length = position.of<MusicTransformerSettings>().length;
  length = std::max(length, use.length);
}

}  // namespace

SchemeDefinition define_music_transformer() {
  return {.facts = {.name = "music_transformer",
                    .family = "relative",
                    .also_called = "music relative_global",
                    .formula = "S_ij += q_i.E[j - i] / sqrt(D), a table for each head",
                    .cost = "1 product with L rows, score matrix in memory",
                    .longer = "refused beyond the table",
                    .paper = "Huang 2018"},
          .options = music_transformer_options,
          .check = check_music_transformer,
          .maximal_length = music_transformer_positions,
          .trained_reach = music_transformer_positions,
          .fit = fit_music_transformer};
}

}  // namespace roformer
