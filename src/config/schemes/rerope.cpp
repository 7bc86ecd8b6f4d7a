#include "config/schemes/rerope.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> rerope_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(ReropeSettings, layout, rotary_layout("the released code has half")),
      ROFORMER_OPTION(ReropeSettings, base, wavelength_base()),
      ROFORMER_OPTION(ReropeSettings, window,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "distances from here on count as this one (Su, "
                               "kexue.fm/archives/9708: 512)"}),
      ROFORMER_OPTION(ReropeSettings, leak,
                      {.range = at_least(0),
                       .help = "leaky form: distances grow at 1/k beyond the window (16); 0: "
                               "none"}),
  };
}

std::string rerope_remark(const PositionSettings& position, std::int64_t length) {
  const std::int64_t window = position.of<ReropeSettings>().window;
  if (window < length) return "";
  return fmt::format(
      "position.rerope.window {} is not inside rows of {} tokens: they are trained "
      "as with rope",
      window, length);
}

void check_rerope(const SchemeCheck& check) {
  check_pairs_of_head(check);
  const double leak = check.options<ReropeSettings>().leak;
  if (leak > 0 && leak < 1) {
    check.problem({check.option("leak")},
                  fmt::format("got {}, wanted 0 (no leak) or a number of at least 1", leak));
  }
}

}  // namespace

SchemeDefinition define_rerope() {
  return {.facts = {.name = "rerope",
                    .family = "rotary",
                    .rotary = true,
                    .tried_on = "rope",
                    .formula = "as rope with distances cut at a window, or growing at 1/k beyond "
                               "it",
                    .cost = "a second score product for far pairs, score matrix in memory",
                    .longer = "yes",
                    .paper = "Su, kexue.fm/archives/9708"},
          .options = rerope_options,
          .check = check_rerope,
          .remark = rerope_remark};
}

}  // namespace roformer
