// Keys of the positional schemes: the choice and, a section each, the options of every scheme.
#include <iterator>

#include "config/position_facts.h"
#include "config/schemes/definition.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<std::string> decoder_names() {
  std::vector<std::string> names{"same"};
  for (std::string& name : position_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> cross_names() {
  std::vector<std::string> names{"none"};
  for (const PositionFacts& facts : position_facts()) {
    if (facts.cross_attention) names.emplace_back(facts.name);
  }
  return names;
}

}  // namespace

std::vector<Key> position_keys() {
  std::vector<Key> keys{
      ROFORMER_KEY(position.scheme, {.help = "how the model knows the order of the tokens; "
                                             "`roformer positions list` explains each",
                                     .words = position_names()}),
      ROFORMER_KEY(position.decoder,
                   {.help = "the scheme of a translator's decoder; same: position.scheme",
                    .words = decoder_names(),
                    .tasks = {TaskKind::translation}}),
      ROFORMER_KEY(position.cross,
                   {.help = "whose rotations the attention to the source uses (RoFormer leaves it "
                            "unrotated; rope: target and source positions count from their own "
                            "beginnings)",
                    .words = cross_names(),
                    .tasks = {TaskKind::translation}}),
  };
  for (const SchemeDefinition& scheme : scheme_definitions()) {
    if (!scheme.options) continue;
    std::vector<Key> options = scheme.options(
        {.name = "position." + std::string(scheme.facts.name), .position = &Settings::position});
    keys.insert(keys.end(), std::make_move_iterator(options.begin()),
                std::make_move_iterator(options.end()));
  }
  return keys;
}

}  // namespace roformer
