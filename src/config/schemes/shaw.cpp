#include "config/schemes/shaw.h"

#include <algorithm>

#include "config/schemes/options.h"

namespace roformer {
namespace {

RowText clip(const char* side) {
  return {
      .unit = "tokens",
      .range = between(0, kLongest),
      .help = std::string("larger distances to the ") + side + " share one vector (Shaw 2018: k)"};
}

std::vector<Key> shaw_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(ShawSettings, left, clip("left")),
      ROFORMER_OPTION(ShawSettings, right, clip("right")),
      ROFORMER_OPTION(ShawSettings, values,
                      {.help = "a table for the values too (Shaw 2018 eq. 3)"}),
  };
}

std::int64_t shaw_reach(const PositionSettings& position) {
  const auto& settings = position.of<ShawSettings>();
  return std::max(settings.left, settings.right) + 1;
}

}  // namespace

SchemeDefinition define_shaw() {
  return {
      .facts = {.name = "shaw",
                .family = "relative",
                .also_called = "relative rel relative_key relative_position shaw_relative",
                .formula = "S_ij += q_i.aK[r] / sqrt(D), o_i += sum_j P_ij aV[r], r = clip(j - i)",
                .cost = "2 products with 2k+1 rows, on GPUs a score matrix in memory",
                .longer = "yes, distances are clipped",
                .paper = "Shaw 2018",
                .held_against = "BERT (relative_key)"},
      .options = shaw_options,
      .trained_reach = shaw_reach};
}

}  // namespace roformer
