#include "config/layer_map.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/parts.h"
#include "config/value.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

constexpr const char* kOthers = "others";
constexpr const char* kWanted = "layers and what they have, {0-2: X, 3: Y}";
constexpr std::int64_t kMostLayers = 100000;

std::string trimmed_key(std::string_view text) {
  return std::string(trimmed(text));
}

// One range of a key; without `last` it extends to the last layer.
struct LayerRange {
  std::int64_t first = 0;
  std::optional<std::int64_t> last = 0;
  std::int64_t step = 1;
};

LayerRange range_of(const std::string& text) {
  try {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string ends = trimmed_key(text.substr(0, slash));
    const std::size_t dash = std::min(ends.find('-'), ends.size());
    LayerRange range{.first =
                         parse_integer(trimmed_key(ends.substr(0, dash)), between(0, kMostLayers))};
    range.last = range.first;
    if (dash < ends.size()) {
      const std::string last = trimmed_key(ends.substr(dash + 1));
      if (last == "last") {
        range.last.reset();
      } else {
        range.last = parse_integer(last, between(static_cast<double>(range.first), kMostLayers));
      }
    }
    if (slash < text.size()) {
      if (dash == ends.size()) throw InvalidValue("a range before the step");
      range.step = parse_integer(trimmed_key(text.substr(slash + 1)), between(1, kMostLayers));
    }
    return range;
  } catch (const InvalidValue&) {
    throw InvalidValue("layers as 3, 0-2, 3-last, 3-last/4 or others", "got " + text);
  }
}

std::vector<LayerRange> ranges_of(const std::string& key) {
  std::vector<LayerRange> ranges;
  std::size_t start = 0;
  for (std::size_t comma; (comma = key.find(',', start)) != std::string::npos; start = comma + 1) {
    ranges.push_back(range_of(trimmed_key(key.substr(start, comma - start))));
  }
  ranges.push_back(range_of(trimmed_key(key.substr(start))));
  return ranges;
}

std::string scalar_of(const YAML::Node& node) {
  if (!node.IsScalar() || node.Scalar().find_first_of("\"\\\n") != std::string::npos) {
    throw InvalidValue(kWanted);
  }
  return node.Scalar();
}

std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '+';
  });
  return plain ? text : yaml_quoted(text);
}

}  // namespace

std::vector<LayerMapEntry> parse_layer_map(std::string_view text) {
  std::vector<LayerMapEntry> entries;
  std::string map = trimmed_key(text);
  if (map.empty()) return entries;
  if (!map.starts_with('{')) map = "{" + map + "}";
  const YAML::Node node = parse_value(map, kWanted);
  if (!node.IsMap()) throw InvalidValue(kWanted);
  for (const auto& pair : node) {
    LayerMapEntry entry{.layers = trimmed_key(scalar_of(pair.first))};
    if (entry.layers != kOthers) ranges_of(entry.layers);
    const auto same = [&](const LayerMapEntry& other) { return other.layers == entry.layers; };
    if (std::ranges::any_of(entries, same)) {  // even if the blanks differ
      throw InvalidValue("each layer once", entry.layers + " is there twice");
    }
    if (pair.second.IsMap()) {
      for (const auto& option : pair.second) {
        entry.options.emplace_back(scalar_of(option.first), scalar_of(option.second));
      }
    } else {
      entry.text = scalar_of(pair.second);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string print_layer_map(const std::vector<LayerMapEntry>& entries) {
  std::string text;
  for (const LayerMapEntry& entry : entries) {
    std::string value = entry.options.empty() && !entry.text.empty() ? quoted(entry.text) : "";
    if (value.empty()) {
      for (const auto& [option, said] : entry.options) {
        value += fmt::format("{}{}: {}", value.empty() ? "" : ", ", option, quoted(said));
      }
      value = "{" + value + "}";
    }
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", quoted(entry.layers), value);
  }
  return text.empty() ? "" : "{" + text + "}";
}

bool is_layer_key(std::string_view key) {
  return key == kOthers || (!key.empty() && std::isdigit(static_cast<unsigned char>(key[0])));
}

std::vector<std::int64_t> entries_of_layers(const std::vector<LayerMapEntry>& entries,
                                            std::int64_t layers) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(layers), -1);
  std::int64_t others = -1;
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    const auto number = static_cast<std::int64_t>(entry);
    if (entries[entry].layers == kOthers) {
      others = number;
      continue;
    }
    for (const LayerRange& range : ranges_of(entries[entry].layers)) {
      const std::int64_t last = range.last.value_or(layers - 1);
      if (range.first >= layers || last >= layers) {
        throw InvalidValue(fmt::format("layers from 0 to {}", layers - 1),
                           fmt::format("{} names layer {}, the model has {}", entries[entry].layers,
                                       std::max(range.first, last), layers));
      }
      for (std::int64_t layer = range.first; layer <= last; layer += range.step) {
        std::int64_t& owner = result[static_cast<std::size_t>(layer)];
        if (owner >= 0) {
          throw InvalidValue(
              "each layer once",
              fmt::format("layer {} is in {} and in {}", layer,
                          entries[static_cast<std::size_t>(owner)].layers, entries[entry].layers));
        }
        owner = number;
      }
    }
  }
  std::ranges::replace(result, std::int64_t{-1}, others);
  return result;
}

}  // namespace roformer
