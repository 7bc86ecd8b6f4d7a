#include "bench/step_arithmetic.h"

#include "bench/products.h"
#include "config/task_facts.h"

namespace roformer {

double language_gflop(const Settings& settings, const LanguageWork& work) {
  const ModelSettings& model = settings.model;
  const LayerProducts layer = layer_products(model);
  const auto width = static_cast<double>(model.width);
  const auto layers = static_cast<double>(model.layers);
  const double narrow =
      model.embedding_width > 0 ? static_cast<double>(model.embedding_width) : width;
  const double keys =
      keys_of_layers(settings, model.layers, work.length, task_facts(settings.task).causal);
  const double stack = layers * work.tokens * layer.projections +
                       ((layers - 1) * work.tokens + work.targets) * layer.rest +
                       work.tokens * keys * layer.pair;
  const double dense = model.head == LanguageHeadKind::bert ? width : 0;
  const double head = work.targets * narrow * (dense + static_cast<double>(model.vocabulary));
  return 6 * (stack + head) * 1e-9;
}

double text_gflop(const Settings& settings, const std::vector<std::int64_t>& lengths,
                  bool all_rows) {
  const LayerProducts layer = layer_products(settings.model);
  const auto width = static_cast<double>(settings.model.width);
  const auto layers = static_cast<double>(settings.model.layers);
  double tokens = 0, pairs = 0;  // pairs: of all layers
  for (const std::int64_t length : lengths) {
    const auto count = static_cast<double>(length);
    tokens += count;
    pairs += count * keys_of_layers(settings, settings.model.layers, count, /*causal=*/false);
  }
  const double rows = all_rows ? tokens : static_cast<double>(lengths.size());
  const double stack = layers * tokens * layer.projections +
                       ((layers - 1) * tokens + rows) * layer.rest + pairs * layer.pair;
  return 2 * (stack + rows * width * width) * 1e-9;
}

double pair_gflop(const Settings& settings, double source, double target) {
  const LayerProducts layer = layer_products(settings.model);
  const std::int64_t encoder = settings.model.layers;
  const std::int64_t decoder =
      settings.translation.decoder_layers > 0 ? settings.translation.decoder_layers : encoder;
  const auto stack = [&](std::int64_t layers, double length, bool causal) {
    return length * (static_cast<double>(layers) * (layer.projections + layer.rest) +
                     keys_of_layers(settings, layers, length, causal) * layer.pair);
  };
  const double cross =
      static_cast<double>(decoder) *
      (target * layer.cross_target + source * layer.cross_source + source * target * layer.pair);
  const double head = target * static_cast<double>(settings.model.width) *
                      static_cast<double>(settings.model.vocabulary);
  return 6 * (stack(encoder, source, false) + stack(decoder, target, true) + cross + head) * 1e-9;
}

}  // namespace roformer
