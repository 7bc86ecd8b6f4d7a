#include "config/schemes/explicit_positions.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> explicit_positions_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(ExplicitPositionsSettings, draw,
                      {.help = "randomized: as many of `positions` as there are tokens, in order, "
                               "drawn for each batch (Ruoss 2023); shape: one offset a "
                               "sequence (Kiyono 2021); cape: shifts and a scale around the middle "
                               "(Likhomanenko 2021). shape and cape draw in training only"}),
      ROFORMER_OPTION(
          ExplicitPositionsSettings, form,
          {.help = "what is computed at the drawn positions: rotations, ALiBi's penalties, "
                   "sinusoids or a learned table; noisy_alibi draws the distances of "
                   "ALiBi instead, for both sides"}),
      ROFORMER_OPTION(ExplicitPositionsSettings, layout,
                      rotary_layout("Ruoss 2023 have interleaved")),
      ROFORMER_OPTION(ExplicitPositionsSettings, sinusoids,
                      {.help = "where the table's sines and cosines stand"}),
      ROFORMER_OPTION(ExplicitPositionsSettings, base, wavelength_base()),
      ROFORMER_OPTION(ExplicitPositionsSettings, positions,
                      {.unit = "positions",
                       .range = between(1, kLongest),
                       .help = "randomized: positions to draw from, at least the longest text that "
                               "is ever read; shape: offsets to draw from"}),
      ROFORMER_OPTION(ExplicitPositionsSettings, global_shift,
                      {.unit = "tokens",
                       .range = at_least(0),
                       .help = "cape: all tokens of a sequence are shifted by up to this"}),
      ROFORMER_OPTION(ExplicitPositionsSettings, local_shift,
                      {.unit = "tokens",
                       .range = between(0, 0.5),
                       .help = "cape: each token is shifted by up to this; 0.5 keeps their order"}),
      ROFORMER_OPTION(
          ExplicitPositionsSettings, largest_scale,
          {.range = at_least(1), .help = "cape: positions are stretched or shrunk by up to this"}),
      ROFORMER_OPTION(
          ExplicitPositionsSettings, initialization,
          {.range = at_least(0), .help = "learned: standard deviation of the table at the start"}),
  };
}

void check_explicit_positions(const SchemeCheck& check) {
  const auto& own = check.options<ExplicitPositionsSettings>();
  const std::string draw = to_word(own.draw), form = to_word(own.form);
  const std::int64_t length = check.settings().data.length;
  if (own.draw == PositionDraw::randomized && own.positions < length) {
    check.problem({check.option("positions"), "data.length", check.choice()},
                  fmt::format("got {}, but texts have up to {} tokens", own.positions, length),
                  fmt::format("--{} {}", check.option("positions"), 4 * length));
  }
  if (own.form == ExplicitForm::rope) check_pairs_of_head(check);
  if (own.form == ExplicitForm::sinusoidal && check.settings().model.width % 2 != 0) {
    check.problem({"model.width", check.option("form")},
                  fmt::format("got {}, but sinusoids come in pairs", check.settings().model.width));
  }
  if (own.form == ExplicitForm::learned && own.draw == PositionDraw::cape) {
    check.problem({check.option("form"), check.option("draw")},
                  "cape draws positions between the rows of a learned table",
                  check.option("form") + ": sinusoidal");
  }
  if (own.form == ExplicitForm::noisy_alibi && own.draw != PositionDraw::randomized) {
    check.problem({check.option("form"), check.option("draw")},
                  fmt::format("noisy_alibi draws distances, {} positions", draw),
                  check.option("draw") + ": randomized");
  }
  if (own.form == ExplicitForm::alibi && check.both_sides()) {
    check.problem({check.option("form"), check.choice(), "task"},
                  fmt::format("{} counts the past alone, but the task {} sees both sides", form,
                              check.task()),
                  check.option("form") + ": noisy_alibi");
  }
}

std::int64_t maximal(const PositionSettings& position) {
  const auto& own = position.of<ExplicitPositionsSettings>();
  return own.draw == PositionDraw::randomized ? own.positions : 0;
}

void fit_explicit_positions(PositionSettings& position, const SchemeUse& use) {
  auto& own = position.of<ExplicitPositionsSettings>();
  own.positions = std::max(own.positions, use.length);
}

}  // namespace

SchemeDefinition define_explicit_positions() {
  return {
      .facts = {.name = "explicit_positions",
                .family = "absolute",
                .formula = "as rope, alibi, sinusoidal or learned at positions p_0 .. p_L-1 that "
                           "are drawn for each batch",
                .cost = "as the scheme at the positions, new tables for each batch",
                .longer = "yes, up to the positions that were drawn from",
                .paper = "Ruoss 2023, arXiv:2305.16843; Kiyono 2021 (SHAPE), arXiv:2109.05644; "
                         "Likhomanenko 2021 (CAPE), arXiv:2106.03143"},
      .options = explicit_positions_options,
      .check = check_explicit_positions,
      .maximal_length = maximal,
      .fit = fit_explicit_positions};
}

}  // namespace roformer
