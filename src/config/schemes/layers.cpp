#include "config/schemes/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/schemes/check.h"
#include "config/schemes/options.h"
#include "config/suggest.h"

namespace roformer {
namespace {

std::vector<Key> layers_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(LayersSettings, schemes,
                      {.help = "the scheme of each layer (from 0): {0-2: rope, 3: none}, "
                               "{3-last/4: none, others: rope}, {0: {scheme: rope, base: 1e6}, "
                               "others: alibi}; other options go in the schemes' own sections"})};
}

// The scheme that an entry names, with the entry's options.
PositionSettings scheme_of_entry(const PositionSettings& position, const LayerMapEntry& entry) {
  Settings settings;
  settings.position = position;
  std::string name = entry.text;
  for (const auto& [option, text] : entry.options) {
    if (option == "scheme") name = text;
    if (option == "formula") {
      throw InvalidValue("{scheme: formula, bias: …} for " + entry.layers,
                         "got formula: " + text + "; a formula of a layer is its bias or score");
    }
  }
  const SchemeDefinition* const scheme = find_scheme_definition(name);
  if (scheme == nullptr) {
    throw InvalidValue(name.empty() ? "{scheme: NAME, …} for " + entry.layers
                                    : "the name of a scheme for " + entry.layers,
                       name.empty() ? "" : got_word(name, position_names()));
  }
  if (scheme->parts) throw InvalidValue("a scheme of one layer for " + entry.layers, "got " + name);
  settings.position.scheme = name;
  for (const auto& [option, text] : entry.options) {
    if (option == "scheme") continue;
    const Key* const key = find_key("position." + name + "." + option);
    if (key == nullptr) throw InvalidValue("options of " + name, "it has no " + option);
    try {
      key->set(settings, text, {});
    } catch (const InvalidValue& invalid) {
      throw InvalidValue(option + " as " + invalid.what(), "got " + text);
    }
  }
  return settings.position;
}

std::vector<SchemePart> parts(const PositionSettings& position, std::int64_t layers) {
  const std::vector<LayerMapEntry>& entries = position.of<LayersSettings>().schemes;
  const std::vector<std::int64_t> owners = entries_of_layers(entries, layers);
  std::vector<SchemePart> result;
  std::vector<const LayerMapEntry*> made;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t owner = owners[static_cast<std::size_t>(layer)];
    if (owner < 0) {
      throw InvalidValue("a scheme for every layer",
                         fmt::format("layer {} has none; others: NAME", layer));
    }
    const LayerMapEntry& entry = entries[static_cast<std::size_t>(owner)];
    // Two keys with the same scheme form one part, so that the layers of both share its parameters.
    const auto same = std::ranges::find_if(made, [&](const LayerMapEntry* other) {
      return other->text == entry.text && other->options == entry.options;
    });
    if (same == made.end()) {
      made.push_back(&entry);
      result.push_back({.position = scheme_of_entry(position, entry), .layers = {layer}});
    } else {
      result[static_cast<std::size_t>(same - made.begin())].layers.push_back(layer);
    }
  }
  return result;
}

std::vector<std::string> part_names(const PositionSettings& position) {
  std::vector<std::string> names;
  for (const LayerMapEntry& entry : position.of<LayersSettings>().schemes) {
    if (!entry.text.empty()) names.push_back(entry.text);
    for (const auto& [option, text] : entry.options) {
      if (option == "scheme") names.push_back(text);
    }
  }
  return names;
}

void check_layers(const SchemeCheck& check) {
  const std::vector<std::string> keys{check.option("schemes"), check.choice(), "model.layers"};
  try {
    std::vector<std::string> embeddings;
    for (const SchemePart& part : parts(check.position(), check.layers())) {
      const PositionFacts& facts = *find_position_facts(part.position.scheme);
      if (facts.family == "absolute") embeddings.emplace_back(facts.name);
    }
    if (embeddings.size() < 2) return;
    check.problem(keys,
                  fmt::format("{} both add to the one embedding below all layers",
                              fmt::join(embeddings, " and ")),
                  "one of them");
  } catch (const InvalidValue& invalid) {
    check.problem(keys, fmt::format("wanted {}", invalid.what()), invalid.hint);
  }
}

// Applies a change of the chosen scheme's options to the options of each part.
template <class Change>
void for_each_part(PositionSettings& position, Change change) {
  const std::string own = position.scheme;
  for (const std::string& name : part_names(position)) {
    position.scheme = name;
    change(position);
  }
  position.scheme = own;
}

std::int64_t shortest_table(const PositionSettings& position) {
  std::int64_t least = 0;
  const auto& entries = position.of<LayersSettings>().schemes;
  for (const LayerMapEntry& entry : entries) {
    try {
      const std::int64_t most = maximal_length(scheme_of_entry(position, entry));
      if (most > 0) least = least == 0 ? most : std::min(least, most);
    } catch (const InvalidValue&) {
      continue;  // the check reports it
    }
  }
  return least;
}

void fit_layers(PositionSettings& position, const SchemeUse& use) {
  for_each_part(position, [&](PositionSettings& one) { fit_to(one, use); });
}

void keep_layers(PositionSettings& position, std::int64_t length) {
  for_each_part(position, [&](PositionSettings& one) { keep_training_length(one, length); });
}

std::vector<SchemeOption> shorthand(std::string_view text, const std::filesystem::path&) {
  if (parse_layer_map(text).empty()) throw InvalidValue("layers and their schemes, {0-2: rope}");
  return {{.option = "schemes", .text = std::string(text)}};
}

}  // namespace

SchemeDefinition define_layers() {
  return {.facts = {.name = "layers",
                    .family = "mixture",
                    .linear_attention = true,
                    .formula = "another scheme in some of the layers: {0-2: rope, 3: none}",
                    .cost = "each layer's own",
                    .longer = "as its schemes do",
                    .paper = "Yang 2025 (RNoPE); Llama 4, SmolLM3"},
          .options = layers_options,
          .check = check_layers,
          .maximal_length = shortest_table,
          .fit = fit_layers,
          .keep_training_length = keep_layers,
          .shorthand = shorthand,
          .shorthand_key = is_layer_key,
          .parts = parts,
          .part_names = part_names};
}

}  // namespace roformer
