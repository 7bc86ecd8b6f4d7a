// Every scheme in a small model, with the sides it needs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/position_facts.h"
#include "position/scheme.h"

namespace roformer {

struct SmallScheme {
  static constexpr std::int64_t kHeads = 3, kHeadWidth = 4, kWidth = 12, kLayers = 2;

  // `change` sets options beyond those that fit the small size.
  explicit SmallScheme(const std::string& name, bool is_causal = false,
                       at::ScalarType type = at::kDouble,
                       const std::function<void(PositionSettings&)>& change = {})
      : parameters(11, type), causal(is_causal || find_position_facts(name)->causal_only) {
    settings.scheme = name;
    settings.learned.length = settings.music_transformer.length = settings.tupe.length = 64;
    settings.shaw.left = 3;
    settings.shaw.right = 5;
    settings.nezha.clip = 4;
    settings.deberta.span = 5;
    settings.cope.positions = 6;
    settings.fire.initial_length = 6;
    settings.rerope.window = 4;
    settings.t5.buckets = settings.tupe.buckets = 8;
    settings.t5.max_distance = settings.tupe.max_distance = 9;
    if (causal) settings.alibi.variant = AlibiVariant::causal;
    if (change) change(settings);
    scheme = make_scheme({.settings = settings,
                          .shape = {.layers = kLayers,
                                    .width = kWidth,
                                    .heads = kHeads,
                                    .head_width = kHeadWidth,
                                    .causal = causal,
                                    .training_length = 64,
                                    .type = type},
                          .parameters = parameters});
    // What starts at zero or alike would hide mistakes.
    std::uint64_t key = 5;
    for (const Parameter& parameter : parameters.all()) {
      Random random(random_key({++key}));
      const at::Tensor values = parameter.value.detach();
      for (std::int64_t i = 0; i < values.numel(); ++i) {
        values.view({-1})[i] = 0.2 + 0.3 * random.uniform();
      }
    }
  }

  PositionSettings settings;
  ParameterStore parameters;
  bool causal;
  std::unique_ptr<PositionScheme> scheme;
};

}  // namespace roformer
