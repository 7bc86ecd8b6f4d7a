#include "config/attention_settings.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "config/schema.h"
#include "config/suggest.h"

namespace roformer {
std::int64_t favor_features(const AttentionSettings& attention, std::int64_t head_width) {
  if (attention.features > 0) return attention.features;
  const auto width = static_cast<double>(head_width);
  return std::max<std::int64_t>(2, 2 * std::llround(width * std::log(width) / 2));
}

std::int64_t linear_feature_count(const AttentionSettings& attention, std::int64_t head_width) {
  return attention.kernel == AttentionKernel::favor ? favor_features(attention, head_width)
                                                    : head_width;
}

namespace {

const std::vector<std::string> kOptions{"kernel",   "window",          "log_n",  "log_n_length",
                                        "features", "linear_rotation", "dropout"};

AttentionSettings with_entry(const AttentionSettings& attention, const LayerMapEntry& entry) {
  Settings settings;
  settings.attention = attention;
  if (!entry.text.empty()) {
    throw InvalidValue("{window: 128} or other keys for " + entry.layers, "got " + entry.text);
  }
  for (const auto& [option, text] : entry.options) {
    if (std::ranges::find(kOptions, option) == kOptions.end()) {
      throw InvalidValue("only " + one_of(kOptions).substr(7) + " for " + entry.layers,
                         got_word(option, kOptions));
    }
    try {
      find_key("attention." + option)->set(settings, text, {});
    } catch (const InvalidValue& invalid) {
      throw InvalidValue(option + " as " + invalid.what() + " for " + entry.layers, "got " + text);
    }
  }
  return settings.attention;
}

}  // namespace

std::vector<AttentionSettings> attention_of_layers(const AttentionSettings& attention,
                                                   std::int64_t layers) {
  AttentionSettings common = attention;
  common.layers.clear();
  std::vector<AttentionSettings> result(static_cast<std::size_t>(layers), common);
  const std::vector<std::int64_t> owners = entries_of_layers(attention.layers, layers);
  for (std::size_t layer = 0; layer < result.size(); ++layer) {
    if (owners[layer] < 0) continue;
    result[layer] = with_entry(common, attention.layers[static_cast<std::size_t>(owners[layer])]);
  }
  return result;
}

bool uses_linear_attention(const AttentionSettings& attention) {
  if (attention.kernel != AttentionKernel::softmax) return true;
  for (const LayerMapEntry& entry : attention.layers) {
    for (const auto& [option, text] : entry.options) {
      if (option == "kernel" && text != "softmax") return true;
    }
  }
  return false;
}

}  // namespace roformer
