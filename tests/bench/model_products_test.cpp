#include "bench/products.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("keys of a query are those that it is multiplied with") {
  const auto counted = [](std::int64_t length, std::int64_t window, bool causal) {
    const std::int64_t left = causal ? window - 1 : window / 2,
                       right = causal ? 0 : window - 1 - left;
    double keys = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j) keys += j >= i - left && j <= i + right;
    }
    return keys / static_cast<double>(length);
  };
  AttentionSettings attention;
  CHECK(keys_of_query(attention, 64, 16, /*causal=*/false) == 64);
  CHECK(keys_of_query(attention, 64, 16, /*causal=*/true) == 32);
  for (const std::int64_t window : {1, 8, 9}) {
    attention.window = window;
    for (const bool causal : {false, true}) {
      CAPTURE(window, causal);
      CHECK(keys_of_query(attention, 64, 16, causal) == Approx(counted(64, window, causal)));
    }
  }
  attention.kernel = AttentionKernel::elu;
  CHECK(keys_of_query(attention, 4096, 16, /*causal=*/false) == 16);
  Settings settings;
  settings.model.layers = 2;
  settings.model.width = 32;
  settings.model.heads = 2;
  settings.attention.layers = parse_layer_map("{1: {window: 8}}");
  CHECK(keys_of_layers(settings, 2, 64, /*causal=*/false) == Approx(64 + counted(64, 8, false)));
}

TEST_CASE("a layer's products are those of its shape") {
  ModelSettings model;
  model.width = 32;
  model.heads = 4;
  model.feed_forward = 128;
  const LayerProducts plain = layer_products(model);
  CHECK(plain.projections == 3 * 32 * 32);
  CHECK(plain.rest == 32 * 32 + 2 * 32 * 128);
  CHECK(plain.pair == 2 * 32);
  CHECK(plain.cross_target + plain.cross_source == 4 * 32 * 32);
  model.key_value_heads = 1;
  model.head_width = 16;
  const LayerProducts grouped = layer_products(model);
  CHECK(grouped.projections == 32 * (64 + 2 * 16));
  CHECK(grouped.cross_source == 32 * 2 * 16);
  CHECK(grouped.pair == 2 * 64);
}
