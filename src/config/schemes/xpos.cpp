#include "config/schemes/xpos.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> xpos_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(XposSettings, base, wavelength_base()),
      ROFORMER_OPTION(XposSettings, gamma, {.range = above(0), .help = "decay (Sun 2022: 0.4)"}),
      ROFORMER_OPTION(XposSettings, scale_base,
                      {.unit = "tokens",
                       .range = above(0),
                       .help = "distance over which the decay acts once (torchscale: 512; paper: "
                               "1)"}),
      ROFORMER_OPTION(XposSettings, centered,
                      {.help = "count from the middle of the sequence, which halves the range of "
                               "the exponents (torchscale); results are the same"}),
      ROFORMER_OPTION(XposSettings, block_causal,
                      {.help = "beyond the training length each block sees itself and the one "
                               "before (Sun 2022, 3.3)"}),
      ROFORMER_OPTION(XposSettings, original_length,
                      {.unit = "tokens",
                       .range = between(0, kLongest),
                       .help = "training length, two blocks; 0: data.length"}),
  };
}

// The first pair's factor in k is ((1 + gamma) / gamma)^(position / scale_base); in q it is the
// inverse.
std::int64_t xpos_positions(const PositionSettings& position) {
  constexpr double kLargestExponent = 80;  // float ends at e^88.7; this leaves room for q and k
  const auto& xpos = position.of<XposSettings>();
  const double exponent = std::log((1 + xpos.gamma) / xpos.gamma) / xpos.scale_base;
  return std::max<std::int64_t>(1, std::llround(std::min(1e9, kLargestExponent / exponent)));
}

void check_xpos(const SchemeCheck& check) {
  const std::int64_t length = check.settings().data.length;
  if (const std::int64_t longest = xpos_positions(check.position()); length > longest) {
    check.problem(
        {check.option("scale_base"), "data.length", check.option("gamma"), check.choice()},
        fmt::format("the factors of scale_base {} leave float's range from {} tokens on, and "
                    "data.length is {}",
                    check.options<XposSettings>().scale_base, longest, length),
        check.option("scale_base") + ": 512");
  }
  check_pairs_of_head(check);
}

void keep_xpos_length(PositionSettings& position, std::int64_t length) {
  XposSettings& xpos = position.of<XposSettings>();
  if (xpos.original_length == 0) xpos.original_length = length;
}

}  // namespace

SchemeDefinition define_xpos() {
  return {.facts = {.name = "xpos",
                    .family = "rotary",
                    .causal_only = true,
                    .rotary = true,
                    .formula = "as rope, each pair times zeta_t^((i-j)/512)",
                    .cost = "as rope",
                    .longer = "yes, with block-causal attention",
                    .paper = "Sun 2022"},
          .options = xpos_options,
          .check = check_xpos,
          .maximal_length = xpos_positions,
          .keep_training_length = keep_xpos_length};
}

}  // namespace roformer
