#include "config/schemes/deberta.h"

#include <fmt/format.h>

#include <cmath>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> deberta_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(DebertaSettings, span,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "larger distances share one vector (He 2021: k = 512)"}),
      ROFORMER_OPTION(DebertaSettings, content_to_position, {.help = "the term of query content"}),
      ROFORMER_OPTION(DebertaSettings, position_to_content, {.help = "the term of key content"}),
      ROFORMER_OPTION(DebertaSettings, index,
                      {.help = "distance of the second term: as in the paper (eq. 4) or as in the "
                               "released code, which has the other sign and, with buckets, another "
                               "row for keys at a distance of max_position or more"}),
      ROFORMER_OPTION(DebertaSettings, share_projections,
                      {.help = "positions use the layer's own query and key projections "
                               "(share_att_key of version 2)"}),
      ROFORMER_OPTION(DebertaSettings, bias,
                      {.help = "the projections of positions have biases, as in the released "
                               "versions 2 and 3; with share_projections the layer's own"}),
      ROFORMER_OPTION(DebertaSettings, buckets,
                      {.unit = "buckets",
                       .range = between(0, kLongest),
                       .help = "logarithmic buckets of versions 2 and 3 (256); 0: none"}),
      ROFORMER_OPTION(DebertaSettings, max_position,
                      {.unit = "tokens",
                       .range = between(2, kLongest),
                       .help = "distance at which the logarithmic buckets end (512)"}),
      ROFORMER_OPTION(DebertaSettings, norm, {.help = "LayerNorm of the table (version 3)"}),
      ROFORMER_OPTION(DebertaSettings, norm_epsilon,
                      {.range = above(0),
                       .help = "added to the variance in that LayerNorm (the released code: "
                               "1e-7)"}),
  };
}

void check_deberta(const SchemeCheck& check) {
  const auto& settings = check.options<DebertaSettings>();
  if (!settings.content_to_position && !settings.position_to_content) {
    check.problem({check.option("content_to_position"), check.option("position_to_content")},
                  "without both terms nothing knows the positions", "position: none");
  }
  if (settings.buckets > 0 && settings.max_position - 1 <= settings.buckets / 2) {
    check.problem({check.option("max_position"), check.option("buckets")},
                  fmt::format("got {}, wanted more than half of the {} buckets plus one",
                              settings.max_position, settings.buckets));
  }
  if (settings.buckets == 1) {
    check.problem({check.option("buckets")}, "got 1, wanted 0 (none) or at least 2");
  }
}

std::int64_t deberta_reach(const PositionSettings& position) {
  const auto& settings = position.of<DebertaSettings>();
  if (settings.buckets == 0) return settings.span;
  // The released code has a row for keys at this distance and beyond.
  if (settings.index == DebertaIndex::code) return settings.max_position + 1;
  // All distances beyond the first distance of the last bucket share that bucket.
  const auto middle = static_cast<double>(settings.buckets / 2);
  if (middle < 2) return settings.buckets;
  const double last = middle * std::pow(static_cast<double>(settings.max_position - 1) / middle,
                                        (middle - 2) / (middle - 1));
  return static_cast<std::int64_t>(std::floor(last)) + 2;
}

}  // namespace

SchemeDefinition define_deberta() {
  return {.facts = {.name = "deberta",
                    .family = "relative",
                    .also_called = "disentangled debertav2 deberta_v2",
                    .formula = "S_ij = (q_i.k_j + q_i.Kr[i-j] + k_j.Qr[j-i]) / sqrt(3D)",
                    .cost = "2 products with 2k rows, on GPUs a score matrix in memory",
                    .longer = "yes, distances are clipped",
                    .paper = "He 2021",
                    .held_against = "DeBERTa-v2"},
          .options = deberta_options,
          .check = check_deberta,
          .trained_reach = deberta_reach};
}

}  // namespace roformer
