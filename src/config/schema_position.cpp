// Keys of the positional schemes: the choice and, a section each, the options of every scheme.
#include <iterator>

#include "config/position_facts.h"
#include "config/schemes/definition.h"
#include "config/schemes/options.h"

namespace roformer {

std::vector<Key> position_keys() {
  std::vector<Key> keys{
      ROFORMER_KEY(position.scheme, {.help = "how the model knows the order of the tokens; "
                                             "`roformer positions list` explains each",
                                     .words = position_names()}),
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
