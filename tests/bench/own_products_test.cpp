#include "bench/products.h"

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
