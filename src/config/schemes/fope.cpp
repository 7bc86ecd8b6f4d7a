#include "config/schemes/fope.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> fope_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(FopeSettings, base, wavelength_base()),
      ROFORMER_OPTION(FopeSettings, training_length,
                      {.unit = "tokens",
                       .range = between(0, kLongest),
                       .help = "frequencies that complete no rotation in this many tokens are left "
                               "out; 0: data.length. It determines the tables' shape"}),
      ROFORMER_OPTION(FopeSettings, floor_ratio,
                      {.unit = "rotations",
                       .range = above(0),
                       .help = "rotations that a frequency must complete in training_length (1)"}),
      ROFORMER_OPTION(
          FopeSettings, pad_sin,
          {.help = "sine of the pairs without frequencies: 1 as the released code, 0 as "
                   "a frequency of zero has it"}),
      ROFORMER_OPTION(FopeSettings, fourier_dim,
                      {.unit = "features",
                       .range = between(0, kLongest),
                       .help = "frequencies are those of a head of so many features, at least the "
                               "head's own; 0: the head's"}),
      ROFORMER_OPTION(FopeSettings, trained,
                      {.help = "train the coefficients; the authors leave them as they begin"}),
      ROFORMER_OPTION(FopeSettings, gain,
                      {.range = at_least(0),
                       .help = "scale of the coefficients' random part (Hua 2024: 0.3 for 60 M "
                               "parameters, 0.4 for 180 M, 0.6 for 1.2 B)"}),
  };
}

void check_fope(const SchemeCheck& check) {
  const auto& fope = check.options<FopeSettings>();
  if (!check.has_head_width()) return;
  const std::int64_t head = check.head_width();
  if (head < 4 || head % 2 != 0) {
    check.problem({"model.heads", "model.width", check.choice()},
                  fmt::format("a head has {} features, wanted an even number of at least 4", head));
    return;
  }
  if (fope.fourier_dim % 2 != 0) {
    check.problem({check.option("fourier_dim")},
                  fmt::format("got {}, but frequencies are of pairs of features", fope.fourier_dim),
                  "an even number");
  }
  // The fastest frequency is one radian a token.
  const std::int64_t length =
      fope.training_length > 0 ? fope.training_length : check.settings().data.length;
  if (fope.floor_ratio * 2 * std::numbers::pi /
          static_cast<double>(std::max<std::int64_t>(1, length)) >
      1) {
    check.problem(
        {check.option("training_length"), check.option("floor_ratio"), "data.length"},
        fmt::format("no frequency completes {} rotations in {} tokens", fope.floor_ratio, length),
        "a longer training_length");
  }
}

void keep_fope_length(PositionSettings& position, std::int64_t length) {
  FopeSettings& fope = position.of<FopeSettings>();
  if (fope.training_length == 0) fope.training_length = length;
}

}  // namespace

SchemeDefinition define_fope() {
  return {
      .facts = {.name = "fope",
                .family = "rotary",
                .shift_invariant = false,  // its rotations also scale
                .formula = "as rope, but a pair's cosine and sine are sums over all frequencies "
                           "with coefficients of each head and layer",
                .cost = "tables of each head and layer in each pass; 6 operations a pair of q "
                        "and k",
                .longer = "degrades less than rope",
                .paper = "Hua 2024, arXiv:2412.17739"},
      .options = fope_options,
      .check = check_fope,
      .keep_training_length = keep_fope_length};
}

}  // namespace roformer
