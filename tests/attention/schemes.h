// Every scheme in a small model, with the sides it needs.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "config/position_facts.h"
#include "config/schemes/alibi.h"
#include "config/schemes/cope.h"
#include "config/schemes/dape.h"
#include "config/schemes/deberta.h"
#include "config/schemes/dual_chunk.h"
#include "config/schemes/fire.h"
#include "config/schemes/layers.h"
#include "config/schemes/learned.h"
#include "config/schemes/music_transformer.h"
#include "config/schemes/nezha.h"
#include "config/schemes/path.h"
#include "config/schemes/rerope.h"
#include "config/schemes/self_extend.h"
#include "config/schemes/shaw.h"
#include "config/schemes/streaming.h"
#include "config/schemes/t5.h"
#include "config/schemes/tupe.h"
#include "position/scheme.h"

namespace roformer {

struct SmallScheme {
  static constexpr std::int64_t kHeads = 3, kHeadWidth = 4, kInner = kHeads * kHeadWidth;
  static constexpr std::int64_t kWidth = 12, kLayers = 2;

  // `change` sets options beyond those that fit the small size.
  explicit SmallScheme(const std::string& name, bool is_causal = false,
                       at::ScalarType type = at::kDouble,
                       const std::function<void(PositionSettings&)>& change = {})
      : parameters(11, type), causal(is_causal || find_position_facts(name)->causal_only) {
    settings.scheme = name;
    settings.of<LearnedSettings>().length = settings.of<MusicTransformerSettings>().length =
        settings.of<TupeSettings>().length = 64;
    settings.of<ShawSettings>().left = 3;
    settings.of<ShawSettings>().right = 5;
    settings.of<NezhaSettings>().clip = 4;
    settings.of<DebertaSettings>().span = 5;
    settings.of<CopeSettings>().positions = 6;
    settings.of<DapeSettings>().width = 5;
    settings.of<FireSettings>().initial_length = 6;
    settings.of<PathSettings>().rank = 6;
    settings.of<ReropeSettings>().window = 4;
    settings.of<SelfExtendSettings>().window = 4;
    settings.of<SelfExtendSettings>().group = 2;
    settings.of<DualChunkSettings>().chunk = 5;
    settings.of<DualChunkSettings>().local = 2;
    settings.of<StreamingSettings>().sinks = 2;
    settings.of<StreamingSettings>().recent = 3;
    settings.of<T5Settings>().buckets = settings.of<TupeSettings>().buckets = 8;
    settings.of<T5Settings>().max_distance = settings.of<TupeSettings>().max_distance = 9;
    settings.of<LayersSettings>().schemes = parse_layer_map("{0: none, 1: rope}");
    if (causal) settings.of<AlibiSettings>().variant = AlibiVariant::causal;
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

  // The scheme's inputs for the tokens [texts, length, M] in the second layer, [texts, H, length,
  // F]; undefined where the scheme has none.
  at::Tensor token_inputs(const at::Tensor& input) const {
    if (!scheme->capabilities().token_inputs) return {};
    return scheme->token_inputs(1, input.flatten(0, 1))
        .view({input.size(0), input.size(1), kHeads, -1})
        .transpose(1, 2);
  }

  PositionSettings settings;
  ParameterStore parameters;
  bool causal;
  std::unique_ptr<PositionScheme> scheme;
};

}  // namespace roformer
