#include "bench/own_products.h"

#include <ATen/ATen.h>

#include "bench/benchmark.h"
#include "catch.h"

using namespace roformer;

TEST_CASE("a step's products are noted with their shapes and layouts, backward passes too") {
  const at::Tensor x = at::ones({6, 5}).requires_grad_(), w = at::ones({7, 5}).requires_grad_();
  const at::Tensor batch = at::ones({2, 3, 4});
  std::map<ProductShape, std::int64_t> products;
  {
    const ProductRecorder recorder;
    for (int i = 0; i < 2; ++i) at::mm(x, w.t()).sum().backward();
    at::bmm(batch, batch.transpose(1, 2));
    at::zeros({6, 7}).addmm_(x.detach(), w.detach().t());
    products = recorder.products();
  }
  at::mm(batch[0], batch[0].t());  // not noted any more
  double gflop = 0;
  std::int64_t calls = 0;
  for (const auto& [shape, count] : products) {
    gflop += shape.gflop() * static_cast<double>(count);
    calls += count;
  }
  CHECK(calls == 8);
  CHECK(products.size() == 5);
  // 6 x 5 x 7 forward and for both gradients, twice, and once added; two of 3 x 4 x 3.
  CHECK(gflop == Approx(2e-9 * (6 * 210 + 210 + 2 * 36)));
  const ProductShape forward{.operation = "aten::mm",
                             .type = at::kFloat,
                             .sizes_a = {6, 5},
                             .strides_a = {5, 1},
                             .sizes_b = {5, 7},
                             .strides_b = {1, 5}};
  REQUIRE(products.contains(forward));
  CHECK(products.at(forward) == 2);
  CHECK(products_alone(products, at::kCPU) > 0);
  CHECK(products_alone({}, at::kCPU) == 0);
}

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
  CHECK(keys_of_query(settings, 64, /*causal=*/false) == Approx(64 + counted(64, 8, false)));
}
