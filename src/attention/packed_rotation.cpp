#include "attention/packed_rotation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>

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

std::vector<Part> parts_of(const PackedHeads& packed,
                           const std::optional<PackedRotation>& rotation) {
  const std::int64_t heads = packed.heads, shared = packed.key_value_heads;
  if (!rotation) return {{.first = 0, .heads = heads + 2 * shared}};
  std::vector<Part> parts{{.first = 0, .heads = heads, .rotation = &rotation->query}};
  if (rotation->query.cosine.is_same(rotation->key.cosine)) {
    parts.back().heads += shared;
  } else {
    parts.push_back({.first = heads, .heads = shared, .rotation = &rotation->key});
  }
  if (rotation->value) {
    parts.back().heads += shared;
  } else {
    parts.push_back({.first = heads + shared, .heads = shared});
  }
  return parts;
}

// All parts of `from` [T, heads * width] into a tensor of the same shape.
at::Tensor rotate_parts(const PackedHeads& packed, const std::optional<PackedRotation>& rotation,
                        const at::Tensor& from, const at::Tensor& bias, bool inverse) {
  const std::int64_t all = packed.heads + 2 * packed.key_value_heads;
  const std::int64_t row = from.size(1), width = row / all;
  const at::Tensor result = at::empty_like(from);
  for (const Part& part : parts_of(packed, rotation)) {
    const std::int64_t offset = part.first * width;
    rotate_rows({.source = from,
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
                 .rotation = part.rotation,
                 .inverse = inverse});
  }
  return result;
}

// Heads [T, N, D] rotated at their tokens' positions.
at::Tensor rotated_heads(const at::Tensor& heads, const Rotation& rotation) {
  return rotated(heads.transpose(0, 1).unsqueeze(0), rotation).squeeze(0).transpose(0, 1);
}

// Of [T, (H + 2G) * D].
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

at::Tensor in_one_pass(const PackedHeads& packed, const std::optional<PackedRotation>& rotation) {
  GradientRecorder recorder("position/rotate_packed", {packed.projected, packed.bias});
  const at::ScalarType wide = accumulate_type(packed.projected.scalar_type());
  const at::Tensor bias =
      packed.bias.defined() ? packed.bias.detach().to(wide).contiguous() : at::Tensor();
  const at::Tensor output =
      rotate_parts(packed, rotation, packed.projected.detach().contiguous(), bias, false);
  // The closure's copy holds no tensor of the graph.
  const PackedHeads sizes{.heads = packed.heads, .key_value_heads = packed.key_value_heads};
  return recorder.finish(
      output, [sizes, rotation, biased = bias.defined()](const Gradients& gradients) -> Gradients {
        const at::Tensor back = rotate_parts(sizes, rotation, gradients[0].contiguous(), {}, true);
        return {back, biased ? column_sums(back) : at::Tensor()};
      });
}

}  // namespace

QueryKeyValue biased_and_rotated(const PackedHeads& packed,
                                 const std::optional<PackedRotation>& rotation) {
  if (form_of(packed.projected) == Form::composed) return composed(packed, rotation);
  return split(in_one_pass(packed, rotation), packed);
}

}  // namespace roformer
