#include "config/schemes/sinusoidal.h"

#include <fmt/format.h>

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> sinusoidal_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(SinusoidalSettings, layout,
                      {.help = "sines and cosines in turn (interleaved: Vaswani 2017), one after "
                               "the other (concat), or tensor2tensor's, whose last wavelength "
                               "differs"}),
      ROFORMER_OPTION(SinusoidalSettings, base, wavelength_base()),
      ROFORMER_OPTION(SinusoidalSettings, scale,
                      {.range = above(0),
                       .help = "factor of the table where it is added to the embedding (1 in the "
                               "paper)"}),
  };
}

void check_sinusoidal(const SchemeCheck& check) {
  const ModelSettings& model = check.settings().model;
  const std::int64_t embedding = model.embedding_width ? model.embedding_width : model.width;
  if (embedding % 2 == 0) return;
  check.problem({"model.embedding_width", "model.width", check.choice()},
                fmt::format("sinusoidal needs pairs of features, got {}", embedding),
                "an even width");
}

}  // namespace

SchemeDefinition define_sinusoidal() {
  return {.facts = {.name = "sinusoidal",
                    .family = "absolute",
                    .linear_attention = true,
                    .shift_invariant = false,
                    .also_called = "sin sinusoid sine sinusoids fixed vaswani",
                    .formula = "e_i = x_i + p_i, p_i = sines and cosines of i theta_t",
                    .cost = "L*M additions, once",
                    .longer = "runs, degrades",
                    .paper = "Vaswani 2017, 3.5",
                    .held_against = "MarianMT"},
          .options = sinusoidal_options,
          .check = check_sinusoidal};
}

}  // namespace roformer
