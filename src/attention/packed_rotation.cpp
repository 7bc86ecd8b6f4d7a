#include "attention/packed_rotation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <vector>

#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/loops.h"
#include "tensor/operations.h"

namespace roformer {
namespace {

// Neighbouring heads that are rotated alike.
struct Part {
  std::int64_t first = 0;
  std::int64_t heads = 0;
  const Rotation* rotation = nullptr;  // null: not rotated
};

// Queries, keys and values.
std::array<Part, 3> three_parts(const PackedHeads& packed,
                                const std::optional<PackedRotation>& rotation) {
  const std::int64_t heads = packed.heads, shared = packed.key_value_heads;
  std::array<Part, 3> parts{{{.heads = heads},
                             {.first = heads, .heads = shared},
                             {.first = heads + shared, .heads = shared}}};
  if (rotation) {
    parts[0].rotation = &rotation->query;
    parts[1].rotation = &rotation->key;
    if (rotation->value) parts[2].rotation = &rotation->key;
  }
  return parts;
}

bool rotated_alike(const Part& a, const Part& b) {
  if (a.rotation == nullptr || b.rotation == nullptr) return a.rotation == b.rotation;
  return a.rotation->cosine.is_same(b.rotation->cosine);
}

// All heads of `from` [T, N * width] with their bias into a tensor of the same shape.
at::Tensor rotated_parts(const PackedHeads& packed, const std::optional<PackedRotation>& rotation,
                         const at::Tensor& from, const at::Tensor& bias) {
  const std::int64_t row = from.size(1);
  const std::int64_t width = row / (packed.heads + 2 * packed.key_value_heads);
  const at::Tensor result = at::empty_like(from);
  std::vector<Part> parts;
  for (const Part& part : three_parts(packed, rotation)) {
    if (!parts.empty() && rotated_alike(parts.back(), part)) {
      parts.back().heads += part.heads;
    } else {
      parts.push_back(part);
    }
  }
  std::vector<RotationRows> rows;
  for (const Part& part : parts) {
    const std::int64_t offset = part.first * width;
    rows.push_back({.source = from,
                    .source_offset = offset,
                    .source_row = row,
                    .source_head = width,
                    .destination = result,
                    .destination_offset = offset,
                    .destination_row = row,
                    .destination_head = width,
                    .tokens = from.size(0),
                    .heads = part.heads,
                    .width = width,
                    .bias = bias.defined() ? bias.narrow(0, offset, part.heads * width) : bias,
                    .rotation = part.rotation});
  }
  rotate_parts(rows);
  return result;
}

// From the gradients of q, k and v [T, N, D] that of [T, N * D] before the rotation, `like` which
// it is made; its sums over the tokens are added to `sums`.
at::Tensor rotated_back(const PackedHeads& packed, const std::optional<PackedRotation>& rotation,
                        const Gradients& gradients, const at::Tensor& like,
                        const at::Tensor& sums) {
  const at::Tensor result = at::empty_like(like);
  const std::int64_t row = result.size(1);
  const std::int64_t width = row / (packed.heads + 2 * packed.key_value_heads);
  const auto parts = three_parts(packed, rotation);
  std::vector<RotationRows> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const std::int64_t columns = part.heads * width;
    const at::Tensor gradient = gradients[i].defined()
                                    ? gradients[i]
                                    : at::zeros({result.size(0), columns}, result.options());
    rows.push_back({.source = gradient.reshape({result.size(0), columns}).contiguous(),
                    .source_row = columns,
                    .source_head = width,
                    .destination = result,
                    .destination_offset = part.first * width,
                    .destination_row = row,
                    .destination_head = width,
                    .tokens = result.size(0),
                    .heads = part.heads,
                    .width = width,
                    .rotation = part.rotation,
                    .inverse = true});
  }
  rotate_parts(rows, sums);
  return result;
}

// Heads [T, N, D] rotated at their tokens' positions.
at::Tensor rotated_heads(const at::Tensor& heads, const Rotation& rotation) {
  return rotated(heads.transpose(0, 1).unsqueeze(0), rotation).squeeze(0).transpose(0, 1);
}

// The parts of a packed tensor [T, (H + 2G) * D].
QueryKeyValue split(const at::Tensor& all, const PackedHeads& sizes) {
  const std::int64_t heads = sizes.heads, shared = sizes.key_value_heads;
  const at::Tensor each = all.unflatten(1, {heads + 2 * shared, -1});
  return {.query = each.narrow(1, 0, heads),
          .key = each.narrow(1, heads, shared),
          .value = each.narrow(1, heads + shared, shared)};
}

QueryKeyValue composed(const PackedHeads& packed, const std::optional<PackedRotation>& rotation) {
  const at::Tensor biased = packed.bias.defined()
                                ? packed.projected + packed.bias.to(packed.projected.scalar_type())
                                : packed.projected;
  QueryKeyValue heads = split(biased, packed);
  if (!rotation) return heads;
  heads.query = rotated_heads(heads.query, rotation->query);
  heads.key = rotated_heads(heads.key, rotation->key);
  if (rotation->value) heads.value = rotated_heads(heads.value, rotation->key);
  return heads;
}

// One autograd node with three outputs: views of one tensor would each get a gradient of the whole
// tensor's size.
QueryKeyValue in_one_pass(const PackedHeads& packed,
                          const std::optional<PackedRotation>& rotation) {
  GradientRecorder recorder("position/rotate_packed", {packed.projected, packed.bias});
  const at::ScalarType wide = accumulate_type(packed.projected.scalar_type());
  const at::Tensor bias =
      packed.bias.defined() ? packed.bias.detach().to(wide).contiguous() : at::Tensor();
  const at::Tensor output =
      rotated_parts(packed, rotation, packed.projected.detach().contiguous(), bias);
  const PackedHeads sizes{.heads = packed.heads, .key_value_heads = packed.key_value_heads};
  const QueryKeyValue views = split(output, sizes);
  const std::vector<at::Tensor> made = recorder.finish(
      {views.query, views.key, views.value},
      [sizes, rotation, parameter = packed.bias, wide,
       like = output.detach()](const Gradients& gradients) -> Gradients {
        if (!parameter.defined()) {
          return {rotated_back(sizes, rotation, gradients, like, {}), {}};
        }
        const ParameterGradient sums(parameter, like.size(1), like.options().dtype(wide));
        return {rotated_back(sizes, rotation, gradients, like, sums.total), sums.returned};
      });
  return {.query = made[0], .key = made[1], .value = made[2]};
}

}  // namespace

QueryKeyValue biased_and_rotated(const PackedHeads& packed,
                                 const std::optional<PackedRotation>& rotation) {
  if (form_of(packed.projected) == Form::composed) return composed(packed, rotation);
  return in_one_pass(packed, rotation);
}

}  // namespace roformer
