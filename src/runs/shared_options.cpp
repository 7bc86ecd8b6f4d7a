#include "runs/shared_options.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "config/layer_map.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/value.h"

namespace roformer {
namespace {

using Options = std::map<std::string, std::string>;

constexpr const char* kScheme = "scheme";
constexpr const char* kLayers = "layers";
constexpr const char* kLayerMap = "position.layers.schemes";

std::string option_key(const std::string& scheme, const std::string& option) {
  return fmt::format("position.{}.{}", scheme, option);
}

// The trained options that the scheme `name` also has.
Options shared_options(const PositionSettings& trained, const std::string& name) {
  Settings settings;
  settings.position = trained;
  const std::string prefix = option_key(trained.scheme, "");
  Options shared;
  for (const Key& key : schema()) {
    if (!key.name.starts_with(prefix)) continue;
    const std::string option = key.name.substr(prefix.size());
    if (find_key(option_key(name, option)) != nullptr) shared[option] = key.get(settings);
  }
  return shared;
}

std::vector<PositionSettings> trained_by_layer(const Settings& stored) {
  std::vector<PositionSettings> layers(static_cast<std::size_t>(stored.model.layers),
                                       stored.position);
  for (const SchemePart& part : scheme_parts(stored.position, stored.model.layers)) {
    for (const std::int64_t layer : part.layers) {
      layers[static_cast<std::size_t>(layer)] = part.position;
    }
  }
  return layers;
}

// The overrides that concern the scheme.
struct Given {
  std::string scheme;
  std::string layers;          // its map of layers, if given
  std::set<std::string> keys;  // as the user wrote them
};

Given given_by(const Settings& stored, const std::vector<Override>& overrides) {
  Given given{.scheme = stored.position.scheme};
  Problems ignored;  // load_settings reports them
  for (const Assignment& one : expand_shorthands(to_assignments(overrides), ignored)) {
    if (one.key == "position" || one.key == "position.scheme") given.scheme = one.text;
    if (one.key == kLayerMap) given.layers = one.text;
    given.keys.insert(one.key);
  }
  return given;
}

// The overrides for a model with one scheme in all layers.
std::vector<Override> options_of_all(const std::vector<PositionSettings>& trained,
                                     const Given& given) {
  Options common;
  for (const PositionSettings& layer : trained) {
    for (const auto& [option, value] : shared_options(layer, given.scheme)) {
      const std::string key = option_key(given.scheme, option);
      if (given.keys.contains(key) || given.keys.contains("position." + option)) continue;
      const auto [first, added] = common.emplace(option, value);
      if (added || first->second == value) continue;
      throw_usage("--position " + given.scheme,
                  fmt::format("has one {} for all layers, and they were trained with {} and {}",
                              option, first->second, value),
                  fmt::format("--{}, or the scheme of each layer with --position.layers", key));
    }
  }
  std::vector<Override> result;
  for (const auto& [option, value] : common) {
    result.push_back({.key = option_key(given.scheme, option), .text = value});
  }
  return result;
}

// The map with one entry for each layer. Each entry is completed with the options that its layer
// was trained with.
std::string completed_map(const Settings& stored, const std::vector<PositionSettings>& trained,
                          const Given& given) {
  const std::vector<LayerMapEntry> entries = parse_layer_map(given.layers);
  const std::vector<std::int64_t> owners = entries_of_layers(entries, std::ssize(trained));
  std::vector<LayerMapEntry> completed;
  for (std::size_t layer = 0; layer < trained.size(); ++layer) {
    if (owners[layer] < 0) return given.layers;  // load_settings refuses it
    LayerMapEntry entry = entries[static_cast<std::size_t>(owners[layer])];
    Options own(entry.options.begin(), entry.options.end());
    const std::string name = own.contains(kScheme) ? own[kScheme] : entry.text;
    for (const auto& [option, value] : shared_options(trained[layer], name)) {
      const std::string key = option_key(name, option);
      if (own.contains(option) || given.keys.contains(key)) continue;
      if (find_key(key)->get(stored) == value) continue;  // already the default of this layer
      entry.options.emplace_back(option, value);
    }
    if (!entry.options.empty() && !own.contains(kScheme)) {
      entry.options.emplace(entry.options.begin(), kScheme, name);
      entry.text.clear();
    }
    entry.layers = std::to_string(layer);
    completed.push_back(std::move(entry));
  }
  return print_layer_map(completed);
}

}  // namespace

std::vector<Override> with_shared_options(const Settings& stored,
                                          const std::vector<Override>& overrides) {
  const Given given = given_by(stored, overrides);
  const bool layered = given.scheme == kLayers;
  const bool unchanged = layered ? given.layers.empty() : given.scheme == stored.position.scheme;
  if (unchanged) return overrides;
  std::vector<Override> result;
  try {
    const std::vector<PositionSettings> trained = trained_by_layer(stored);
    if (layered) {
      result = overrides;
      result.push_back({.key = kLayerMap, .text = completed_map(stored, trained, given)});
      return result;
    }
    result = options_of_all(trained, given);
  } catch (const InvalidValue&) {
    // load_settings refuses an invalid map.
  }
  result.insert(result.end(), overrides.begin(), overrides.end());
  return result;
}

}  // namespace roformer
