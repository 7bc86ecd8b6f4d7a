#include "tasks/untrained.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "tasks/stored_data.h"

namespace roformer {
namespace {

std::vector<std::string> schemes_by_layer(const Settings& settings) {
  std::vector<std::string> schemes(static_cast<std::size_t>(settings.model.layers));
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    for (const std::int64_t layer : part.layers) {
      schemes[static_cast<std::size_t>(layer)] = part.position.scheme;
    }
  }
  return schemes;
}

// Flags that change how fast the model computes but none of its answers.
bool is_of_speed(const Override& override) {
  return override.key == "device" || override.key == "threads";
}

}  // namespace

std::int64_t longest_row(const Settings& settings) {
  std::int64_t longest = settings.data.length;
  for (const StageSettings& stage : settings.stages) {
    longest = std::max(longest, stage.length.value_or(0));
  }
  return longest;
}

void warn_of_other_scheme(const Settings& trained, const Settings& used) {
  const std::vector<std::string> before = schemes_by_layer(trained), now = schemes_by_layer(used);
  for (std::size_t layer = 0; layer < std::min(before.size(), now.size()); ++layer) {
    if (may_be_tried_on(now[layer], before[layer])) continue;
    log::warn("position {}: the weights were trained with {}, never with {}", now[layer],
              before[layer], now[layer]);
    return;
  }
}

void warn_of_untrained_rows(const OpenedCheckpoint& opened, std::int64_t length) {
  const Settings& settings = opened.settings;
  const std::int64_t trained = longest_row(settings);
  if (length <= trained) return;
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    if (trained_reach(part.position) <= trained) continue;
    log::warn(
        "rows of {} tokens are longer than the training rows ({}): position {} has untrained "
        "parameters beyond them",
        length, trained, part.position.scheme);
    return;
  }
}

void warn_of_short_start(const Settings& settings, std::int64_t from_length) {
  if (from_length <= 0 || settings.data.length <= from_length) return;
  if (!task_facts(settings.task).labelled) return;
  log::warn(
      "texts have up to {} tokens, but the pretrained model was trained on rows of {}: later "
      "positions are learned from the labelled texts only",
      settings.data.length, from_length);
}

void warn_of_short_start(const OpenedCheckpoint& opened) {
  const nlohmann::json data = recorded_data_of(opened.checkpoint);
  if (!data.is_object()) return;
  const nlohmann::json length = data.value("from_length", nlohmann::json());
  if (length.is_number_integer()) {
    warn_of_short_start(opened.settings, length.get<std::int64_t>());
  }
}

void require_positions(const Settings& settings, const std::string& what, std::int64_t length,
                       std::int64_t shift) {
  const std::int64_t most = maximal_length(settings.position);
  if (most == 0 || shift + length <= most) return;
  throw_usage(what,
              fmt::format("{} tokens{} do not fit the {} positions that {} has", length,
                          shift > 0 ? fmt::format(" from position {} on", shift) : "", most,
                          settings.position.scheme),
              "a shorter text, or a scheme without a table");
}

std::string with_overrides(const OpenedCheckpoint& opened) {
  std::string text;
  for (const Override& override : opened.overrides) {
    if (is_of_speed(override)) continue;
    text += fmt::format("{} --{} {}", text.empty() ? ", with" : "", override.key, override.text);
  }
  return text;
}

nlohmann::ordered_json overrides_json(const OpenedCheckpoint& opened) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Override& override : opened.overrides) {
    if (!is_of_speed(override)) object[override.key] = override.text;
  }
  return object;
}

}  // namespace roformer
