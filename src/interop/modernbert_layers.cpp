#include "interop/modernbert_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "config/attention_settings.h"
#include "config/position_facts.h"
#include "config/schemes/layers.h"
#include "config/schemes/rope.h"
#include "config/value.h"

namespace roformer {
namespace {

// As a key of a map of layers: "0-last/3", "0,4,5".
std::string key_of_full_layers(const std::vector<bool>& full) {
  const std::int64_t step = step_of_full_layers(full);
  if (step > 0 && step < static_cast<std::int64_t>(full.size())) {
    return fmt::format("0-last/{}", step);
  }
  std::vector<std::size_t> layers;
  for (std::size_t layer = 0; layer < full.size(); ++layer) {
    if (full[layer]) layers.push_back(layer);
  }
  return fmt::format("{}", fmt::join(layers, ","));
}

LayerMapEntry window_entry(std::string layers, std::int64_t window) {
  return {.layers = std::move(layers), .text = "", .options = {{"window", std::to_string(window)}}};
}

LayerMapEntry rope_entry(std::string layers, double base) {
  return {.layers = std::move(layers),
          .text = "",
          .options = {{"scheme", "rope"}, {"layout", "half"}, {"base", print_number(base)}}};
}

// What is said of all layers, each problem once.
class LayerWishes {
 public:
  explicit LayerWishes(std::vector<std::string>& problems) : problems_(problems) {}
  void expect(bool holds, std::string problem) {
    if (holds || !said_.insert(problem).second) return;
    problems_.push_back(std::move(problem));
  }

 private:
  std::vector<std::string>& problems_;
  std::set<std::string> said_;
};

void read_windows(const Settings& settings, LayerWishes& wishes, ModernBertLayers& result) {
  std::set<std::int64_t> windows;
  for (const AttentionSettings& layer :
       attention_of_layers(settings.attention, settings.model.layers)) {
    result.full.push_back(layer.window == 0);
    if (layer.window > 0) windows.insert(layer.window);
    wishes.expect(layer.kernel == AttentionKernel::softmax,
                  "ModernBERT's attention is a softmax (attention.kernel softmax)");
    wishes.expect(layer.log_n == LogNScaling::none,
                  "its scores do not grow with the length (attention.log_n none)");
    wishes.expect(layer.dropout == settings.attention.dropout,
                  "all of its layers have the same dropout (attention.dropout)");
    wishes.expect(layer.window % 2 == 1 || layer.window == 0,
                  "its windows reach as far to the left as to the right: an odd number of tokens "
                  "(attention.window)");
  }
  wishes.expect(windows.size() <= 1, "its windows have one size (attention.layers)");
  if (!windows.empty()) result.window = *windows.begin();
}

void expect_plain_rope(const RopeSettings& rope, LayerWishes& wishes) {
  wishes.expect(rope.fraction == 1, "it rotates whole heads (position.rope.fraction 1)");
  wishes.expect(!rope.value, "it does not rotate values (position.rope.value false)");
  wishes.expect(rope.offset == 0, "its positions begin at 0 (position.rope.offset)");
  wishes.expect(rope.scaling == RopeScaling::none,
                "its frequencies are not scaled (position.rope.scaling none)");
  wishes.expect(rope.attention_factor == 0 || rope.attention_factor == 1,
                "it scales neither queries nor keys (position.rope.attention_factor 0)");
}

void read_rotations(const Settings& settings, LayerWishes& wishes, ModernBertLayers& result) {
  result.layouts.assign(result.full.size(), RotaryLayout::half);
  std::optional<double> full_base, window_base;
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    const bool rope = part.position.scheme == "rope";
    wishes.expect(
        rope, fmt::format("its positions are rope in every layer, not {}", part.position.scheme));
    if (!rope) continue;
    const RopeSettings& options = part.position.of<RopeSettings>();
    expect_plain_rope(options, wishes);
    for (const std::int64_t layer : part.layers) {
      const auto index = static_cast<std::size_t>(layer);
      result.layouts[index] = options.layout;
      std::optional<double>& base = result.full[index] ? full_base : window_base;
      wishes.expect(base.value_or(options.base) == options.base,
                    "its layers of one kind, with a window or without, share a base "
                    "(position.layers)");
      base = options.base;
    }
  }
  result.full_base = full_base.value_or(result.full_base);
  result.window_base = window_base.value_or(result.window_base);
}

}  // namespace

std::int64_t step_of_full_layers(const std::vector<bool>& full) {
  const auto layers = static_cast<std::int64_t>(full.size());
  for (std::int64_t step = 1; step <= layers; ++step) {
    bool fits = true;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      fits = fits && full[static_cast<std::size_t>(layer)] == (layer % step == 0);
    }
    if (fits) return step;
  }
  return 0;
}

void set_modernbert_layers(const ModernBertLayers& layers, Settings& settings) {
  const bool some = std::find(layers.full.begin(), layers.full.end(), true) != layers.full.end();
  const bool all = std::find(layers.full.begin(), layers.full.end(), false) == layers.full.end();
  const std::string full = key_of_full_layers(layers.full);
  if (some && !all) {
    settings.attention.layers = {window_entry(full, 0), window_entry("others", layers.window)};
  } else {
    settings.attention.window = all ? 0 : layers.window;
  }
  if (some && !all && layers.full_base != layers.window_base) {
    settings.position.scheme = "layers";
    settings.position.of<LayersSettings>().schemes = {rope_entry(full, layers.full_base),
                                                      rope_entry("others", layers.window_base)};
    return;
  }
  settings.position.scheme = "rope";
  RopeSettings& rope = settings.position.of<RopeSettings>();
  rope.layout = RotaryLayout::half;
  rope.base = some ? layers.full_base : layers.window_base;
}

ModernBertLayers modernbert_layers_of(const Settings& settings,
                                      std::vector<std::string>& problems) {
  ModernBertLayers result;
  LayerWishes wishes(problems);
  read_windows(settings, wishes, result);
  read_rotations(settings, wishes, result);
  return result;
}

}  // namespace roformer
