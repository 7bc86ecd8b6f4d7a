// Bias and rotation of packed q, k, v in one pass, by the loops and by a GPU's kernels, against
// LibTorch's operations one after the other.
#include "tensor/rotation.h"

#include <ATen/ATen.h>

#include <vector>

#include "catch.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/emulation.h"

using namespace roformer;

namespace {

Rotation tables(std::int64_t tokens, std::int64_t width, double turn, at::ScalarType type) {
  const at::Tensor angles =
      at::outer(at::arange(tokens, at::kDouble), at::arange(1, width / 2 + 1, at::kDouble)) * turn;
  return {.cosine = at::cos(angles).to(type), .sine = at::sin(angles).to(type)};
}

// q, k, v and the gradients of packed heads and bias.
std::vector<at::Tensor> run(const PackedHeads& packed,
                            const std::optional<RotationPair>& rotation) {
  PackedHeads leaves = packed;
  leaves.projected = packed.projected.clone().requires_grad_();
  if (packed.bias.defined()) {
    leaves.bias = packed.bias.clone().requires_grad_();
    leaves.bias.mutable_grad() = at::ones_like(packed.bias);  // which is added to
  }
  const QueryKeyValue made = biased_and_rotated(leaves, rotation);
  const auto weighted = [](const at::Tensor& x, double turn) {
    const at::Tensor weight = at::sin(at::arange(x.numel(), at::kDouble) * turn).view(x.sizes());
    return (x.to(at::kDouble) * weight).sum();
  };
  (weighted(made.query, 0.7) + weighted(made.key, 0.9) + weighted(made.value, 1.1)).backward();
  std::vector<at::Tensor> results{made.query.detach(), made.key.detach(), made.value.detach(),
                                  leaves.projected.grad()};
  if (leaves.bias.defined()) results.push_back(leaves.bias.grad());
  return results;
}

}  // namespace

TEST_CASE("packed heads get their bias and rotation in one pass, loops and kernels alike") {
  const auto type = GENERATE(at::kDouble, at::kFloat, at::kBFloat16);
  const std::int64_t shared = GENERATE(4, 2);
  const bool biased = GENERATE(true, false);
  const int rotations = GENERATE(0, 1, 2, 3);  // none; alike; of their own; values, too
  const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  // Of each head and of its rotated part: by one number, by four and by eight at once.
  const auto [width, rotary] = GENERATE(std::pair<std::int64_t, std::int64_t>{8, 6},
                                        std::pair<std::int64_t, std::int64_t>{24, 16},
                                        std::pair<std::int64_t, std::int64_t>{32, 16});
  constexpr std::int64_t kTokens = 11, kHeads = 4;
  at::manual_seed(6);
  const std::int64_t row = (kHeads + 2 * shared) * width;
  const PackedHeads packed{.projected = at::randn({kTokens, row}, at::kDouble).to(type),
                           .bias = biased ? at::randn({row}, at::kDouble).to(wide) : at::Tensor(),
                           .heads = kHeads,
                           .key_value_heads = shared};
  std::optional<RotationPair> rotation;
  if (rotations > 0) {
    const Rotation first = tables(kTokens, rotary, 0.3, wide);
    rotation = {.query = first,
                .key = rotations == 2 ? tables(kTokens, rotary, -0.2, wide) : first,
                .value = rotations == 3};
  }
  std::vector<at::Tensor> composed;
  {
    const ComposedForms forms;
    composed = run(packed, rotation);
  }
  const auto check = [&](const std::vector<at::Tensor>& got) {
    const double allowed = type == at::kDouble ? 1e-12 : type == at::kFloat ? 2e-5 : 6e-2;
    REQUIRE(got.size() == composed.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK(at::allclose(got[i].to(at::kDouble), composed[i].to(at::kDouble), allowed, allowed));
    }
  };
  check(run(packed, rotation));
  const gpu::KernelEmulation emulation(emulate_kernel);
  check(run(packed, rotation));
}

TEST_CASE("texts of one length share the rows of a table, by loops and by kernels") {
  at::manual_seed(7);
  constexpr std::int64_t kLength = 5, kHeads = 2, kWidth = 8;
  const PackedHeads packed{.projected = at::randn({3 * kLength, 3 * kHeads * kWidth}),
                           .bias = at::randn({3 * kHeads * kWidth}),
                           .heads = kHeads,
                           .key_value_heads = kHeads};
  const Rotation table = tables(kLength, kWidth, 0.3, at::kFloat);
  const Rotation of_tokens{.cosine = table.cosine.repeat({3, 1}),
                           .sine = table.sine.repeat({3, 1})};
  const std::vector<at::Tensor> wanted =
      run(packed, RotationPair{.query = of_tokens, .key = of_tokens});
  const auto check = [&] {
    const auto got = run(packed, RotationPair{.query = table, .key = table});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(at::allclose(got[i], wanted[i], 1e-5, 1e-6));  // sums are in another order
    }
  };
  check();
  const gpu::KernelEmulation emulation(emulate_kernel);
  check();
}
