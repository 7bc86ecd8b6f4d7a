#include "config/schemes/learned.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> learned_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(LearnedSettings, length, table_length()),
      ROFORMER_OPTION(LearnedSettings, initialization,
                      {.unit = "standard deviation",
                       .range = above(0),
                       .help = "of the table's first values, normal cut at two standard deviations "
                               "(BERT: 0.02); with scaled embeddings, of their size"}),
      ROFORMER_OPTION(LearnedSettings, hierarchical,
                      {.help = "a table of N rows serves N*N positions (bert4keras, "
                               "kexue.fm/archives/7947)"}),
      ROFORMER_OPTION(LearnedSettings, hierarchical_alpha,
                      {.range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
                       .help = "weight of the coarse position (bert4keras: 0.4)"}),
  };
}

std::int64_t learned_positions(const PositionSettings& position) {
  const auto& settings = position.of<LearnedSettings>();
  return settings.hierarchical ? settings.length * settings.length : settings.length;
}

void check_learned(const SchemeCheck& check) {
  check_table(check, learned_positions(check.position()), {"length", "hierarchical"});
}

}  // namespace

SchemeDefinition define_learned() {
  return {.facts = {.name = "learned",
                    .family = "absolute",
                    .linear_attention = true,
                    .shift_invariant = false,
                    .also_called = "absolute abs learned_absolute absolute_learned",
                    .formula = "e_i = x_i + table_i",
                    .cost = "L*M additions, once",
                    .longer = "refused beyond the table",
                    .paper = "Devlin 2019 (BERT)",
                    .held_against = "BERT, GPT-2"},
          .options = learned_options,
          .check = check_learned,
          .maximal_length = learned_positions,
          .trained_reach = table_positions<LearnedSettings>,
          .fit = fit_table<LearnedSettings>};
}

}  // namespace roformer
