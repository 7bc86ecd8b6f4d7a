#include "config/schemes/music_transformer.h"

#include <algorithm>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> options(const SchemeSection& section) {
  return {ROFORMER_OPTION(MusicTransformerSettings, length, table_length())};
}

std::int64_t positions(const PositionSettings& position) {
  return position.of<MusicTransformerSettings>().length;
}

void check(const SchemeCheck& check) {
  check_table(check, positions(check.position()));
}

void fit(PositionSettings& position, const SchemeUse& use) {
  std::int64_t& length = position.of<MusicTransformerSettings>().length;
  length = std::max(length, use.length);
}

}  // namespace

SchemeDefinition define_music_transformer() {
  return {.facts = {.name = "music_transformer",
                    .family = "relative",
                    .formula = "S_ij += q_i.E[j - i] / sqrt(D), a table for each head",
                    .cost = "1 product with L rows, score matrix in memory",
                    .longer = "refused beyond the table",
                    .paper = "Huang 2018"},
          .options = options,
          .check = check,
          .maximal_length = positions,
          .fit = fit};
}

}  // namespace roformer
