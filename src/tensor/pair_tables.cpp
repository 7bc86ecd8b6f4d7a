#include "tensor/pair_tables.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <utility>

#include "base/error.h"
#include "tensor/gradient.h"

namespace roformer {
namespace {

// The first and second features of all pairs, [.., D / 2] each.
std::pair<at::Tensor, at::Tensor> halves_of_pairs(const at::Tensor& x, RotaryLayout layout) {
  const bool interleaved = layout == RotaryLayout::interleaved;
  const at::Tensor pairs = x.unflatten(-1, {interleaved ? -1 : 2, interleaved ? 2 : -1});
  const std::int64_t side = interleaved ? -1 : -2;
  return {pairs.select(side, 0), pairs.select(side, 1)};
}

at::Tensor of_halves(const at::Tensor& a, const at::Tensor& b, RotaryLayout layout) {
  return layout == RotaryLayout::interleaved ? at::stack({a, b}, -1).flatten(-2)
                                             : at::cat({a, b}, -1);
}

}  // namespace

at::Tensor rotated_by_tables(const at::Tensor& x, const PairTables& tables) {
  ROFORMER_ASSERT(x.dim() == 4 && 2 * tables.cosine.size(3) == x.size(3));
  GradientRecorder recorder("position/rotate_pairs", {x, tables.cosine, tables.sine});
  const at::Tensor cosine = tables.cosine.detach(), sine = tables.sine.detach();
  const at::Tensor input = x.detach();
  const auto type = x.scalar_type(), wide = cosine.scalar_type();
  const RotaryLayout layout = tables.layout;
  const auto [a, b] = halves_of_pairs(input.to(wide), layout);
  const at::Tensor result = of_halves(a * cosine - b * sine, b * cosine + a * sine, layout);
  const bool trained = recorder.wanted(1) || recorder.wanted(2);
  return recorder.finish(result.to(type), [=](const Gradients& gradients) -> Gradients {
    const auto [ga, gb] = halves_of_pairs(gradients[0].to(wide), layout);
    const at::Tensor back =
        of_halves(ga * cosine + gb * sine, gb * cosine - ga * sine, layout).to(type);
    if (!trained) return {back, {}, {}};
    const auto [first, second] = halves_of_pairs(input.to(wide), layout);
    return {back, (first * ga + second * gb).sum_to_size(cosine.sizes()),
            (first * gb - second * ga).sum_to_size(sine.sizes())};
  });
}

}  // namespace roformer
