#include "config/schemes/dual_chunk.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> dual_chunk_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(DualChunkSettings, layout, rotary_layout("the released code has half")),
      ROFORMER_OPTION(DualChunkSettings, base, wavelength_base()),
      ROFORMER_OPTION(DualChunkSettings, chunk,
                      {.unit = "tokens",
                       .range = between(0, kLongest),
                       .help = "the largest distance that is counted; 0: three quarters of "
                               "data.length (An 2024)"}),
      ROFORMER_OPTION(DualChunkSettings, local,
                      {.unit = "tokens",
                       .range = between(0, kLongest),
                       .help = "of a chunk, whose distances to the chunk before are exact; 0: an "
                               "eighth of data.length (An 2024)"}),
      ROFORMER_OPTION(DualChunkSettings, magnitude,
                      {.range = above(0),
                       .help = "factor of the rotated q and k (the released code: 1, or "
                               "0.05 ln s + 1 for texts s times as long)"}),
  };
}

void check_dual_chunk(const SchemeCheck& check) {
  check_pairs_of_head(check);
  const DualChunkSettings used =
      resolved(check.options<DualChunkSettings>(), check.settings().data.length);
  if (used.local < used.chunk) return;
  check.problem({check.option("local"), check.option("chunk"), "data.length"},
                fmt::format("got {}, wanted less than the chunk ({})", used.local, used.chunk));
}

void keep_dual_chunk_length(PositionSettings& position, std::int64_t length) {
  DualChunkSettings& settings = position.of<DualChunkSettings>();
  settings = resolved(settings, length);
}

}  // namespace

DualChunkSettings resolved(DualChunkSettings settings, std::int64_t training_length) {
  if (settings.chunk == 0) settings.chunk = std::max<std::int64_t>(2, 3 * training_length / 4);
  if (settings.local == 0) settings.local = std::max<std::int64_t>(1, training_length / 8);
  return settings;
}

SchemeDefinition define_dual_chunk() {
  return {.facts = {.name = "dual_chunk",
                    .family = "rotary",
                    .causal_only = true,
                    .shift_invariant = false,  // chunks have fixed places
                    .rotary = true,
                    .tried_on = "rope",
                    .also_called = "dca chunkllama dual_chunk_attention",
                    .formula = "as rope within a chunk; to earlier chunks of distances that never "
                               "pass its size",
                    .cost = "two further score products for far pairs, score matrix in memory",
                    .longer = "yes: of a model that was trained with rope",
                    .paper = "An 2024, arXiv:2402.17463"},
          .options = dual_chunk_options,
          .check = check_dual_chunk,
          .keep_training_length = keep_dual_chunk_length};
}

}  // namespace roformer
