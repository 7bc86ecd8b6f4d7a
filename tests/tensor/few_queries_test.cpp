// Attention of a few queries against its formula in double.
#include "tensor/tiled_attention.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <limits>

#include "catch.h"

using namespace roformer;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Shape {
  std::int64_t texts, heads, key_heads, queries, keys, width;
};

// Rows of a cache with room for more, as decoding has them.
at::Tensor cached(const Shape& shape, at::ScalarType type) {
  return at::randn({shape.texts, shape.key_heads, shape.keys + 3, shape.width})
      .to(type)
      .narrow(2, 0, shape.keys);
}

FewQueryAttention example(const Shape& shape, at::ScalarType type) {
  return {.query = at::randn({shape.texts, shape.queries, shape.heads, shape.width})
                       .to(type)
                       .transpose(1, 2),
          .key = cached(shape, type),
          .value = cached(shape, type),
          .scale = 0.3};
}

at::Tensor by_formula(const FewQueryAttention& in) {
  const std::int64_t shared = in.query.size(1) / in.key.size(1);
  const auto wide = [&](const at::Tensor& x) {
    return x.to(at::kDouble).repeat_interleave(shared, 1);
  };
  at::Tensor scores = in.scale * at::matmul(in.query.to(at::kDouble), wide(in.key).transpose(2, 3));
  if (in.additive.defined()) scores = scores + in.additive.to(at::kDouble);
  return at::matmul(at::softmax(scores, -1), wide(in.value));
}

void check_close(const at::Tensor& found, const at::Tensor& expected) {
  const double tolerance = found.scalar_type() == at::kBFloat16 ? 8e-3
                           : found.scalar_type() == at::kFloat  ? 1e-5
                                                                : 1e-12;
  CHECK(at::allclose(found.to(at::kDouble), expected, tolerance, tolerance));
}

}  // namespace

TEST_CASE("a few queries attend as the formula says, at any width and with shared keys") {
  at::manual_seed(1);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
  for (const Shape& shape :
       {Shape{2, 4, 4, 1, 9, 64}, Shape{3, 4, 2, 1, 33, 16}, Shape{1, 6, 1, 8, 5, 8},
        Shape{2, 2, 2, 3, 17, 80}, Shape{1, 1, 1, 1, 1, 3}, Shape{2, 3, 3, 2, 300, 129}}) {
    FewQueryAttention in = example(shape, type);
    REQUIRE(can_attend_few(in));
    const at::Tensor found = attend_few(in);
    CHECK(found.scalar_type() == type);
    CHECK(found.sizes() == in.query.sizes());
    check_close(found, by_formula(in));
    // What is added may be one number for all heads and queries, or another one for each.
    for (const auto& sizes :
         {std::vector<std::int64_t>{shape.texts, 1, 1, shape.keys},
          std::vector<std::int64_t>{shape.heads, shape.queries, shape.keys},
          std::vector<std::int64_t>{shape.texts, shape.heads, shape.queries, shape.keys}}) {
      in.additive = at::randn(sizes).to(type);
      in.additive.select(-1, shape.keys - 1).fill_(shape.keys > 1 ? -kInfinity : 0);
      check_close(attend_few(in), by_formula(in));
    }
    in.additive = at::randn({shape.heads, shape.queries, 1}).to(type);
    check_close(attend_few(in), by_formula(in));
  }
}

TEST_CASE("a query that sees no key attends to nothing") {
  FewQueryAttention in = example({2, 2, 2, 1, 5, 16}, at::kFloat);
  in.additive = at::zeros({2, 1, 1, 5});
  in.additive[1].fill_(-kInfinity);
  const at::Tensor found = attend_few(in);
  CHECK(at::equal(found[1], at::zeros({2, 1, 16})));
  CHECK(found[0].abs().max().item<float>() > 0);
}

TEST_CASE("few queries are few, and nobody asks for their gradient") {
  FewQueryAttention in = example({1, 2, 2, 8, 5, 16}, at::kFloat);
  CHECK(can_attend_few(in));
  in.key = in.key.clone().requires_grad_();
  CHECK_FALSE(can_attend_few(in));
  {
    const c10::AutoGradMode no_gradient(false);
    CHECK(can_attend_few(in));
  }
  CHECK_FALSE(can_attend_few(example({1, 2, 2, 9, 5, 16}, at::kFloat)));
}
