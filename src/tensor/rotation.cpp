#include "tensor/rotation.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/row_kernels.h"
#include "tensor/gradient.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

// The same from LibTorch's operations, for devices without the loops.
at::Tensor composed_rotation(const at::Tensor& x, const Rotation& rotation) {
  const std::int64_t width = rotation.width();
  const at::Tensor rotated_part = x.narrow(-1, 0, width);
  const bool interleaved = rotation.layout == RotaryLayout::interleaved;
  const auto pairs = interleaved ? rotated_part.unflatten(-1, {width / 2, 2}).unbind(-1)
                                 : rotated_part.unflatten(-1, {2, width / 2}).unbind(-2);
  const at::Tensor a = pairs[0] * rotation.cosine - pairs[1] * rotation.sine;
  const at::Tensor b = pairs[1] * rotation.cosine + pairs[0] * rotation.sine;
  const at::Tensor result =
      (interleaved ? at::stack({a, b}, -1).flatten(-2) : at::cat({a, b}, -1)).to(x.scalar_type());
  if (width == x.size(-1)) return result;
  return at::cat({result, x.narrow(-1, width, x.size(-1) - width)}, -1);
}

// x [B, H, L, D] with any strides but the last -> contiguous [B, L, H, D] memory, seen as [B, H, L,
// D].
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, bool inverse) {
  const at::Tensor input = x.stride(-1) == 1 ? x : x.contiguous();
  const std::int64_t batch = input.size(0), heads = input.size(1), length = input.size(2),
                     width = input.size(3);
  at::Tensor output = at::empty({batch, length, heads, width}, input.options());
  // Texts that follow one another evenly are rows of one piece.
  const bool even = input.stride(0) == length * input.stride(2);
  const std::int64_t texts = even ? 1 : batch;
  for (std::int64_t b = 0; b < texts; ++b) {
    rotate_rows({.source = input,
                 .source_offset = b * input.stride(0),
                 .source_row = input.stride(2),
                 .source_head = input.stride(1),
                 .destination = output,
                 .destination_offset = b * output.stride(0),
                 .destination_row = output.stride(1),
                 .destination_head = output.stride(2),
                 .tokens = batch / texts * length,
                 .heads = heads,
                 .width = width,
                 .rotation = &rotation,
                 .inverse = inverse});
  }
  return output.transpose(1, 2);
}

template <typename T>
kernels::Rotate<T> work_on(const RotationRows& rows) {
  using A = kernels::Accumulate<T>;
  kernels::Rotate<T> work{
      .input = rows.source.const_data_ptr<T>() + rows.source_offset,
      .output = rows.destination.mutable_data_ptr<T>() + rows.destination_offset,
      .bias = rows.bias.defined() ? rows.bias.const_data_ptr<A>() : nullptr,
      .input_row = rows.source_row,
      .output_row = rows.destination_row,
      .input_head = rows.source_head,
      .output_head = rows.destination_head,
      .heads = rows.heads,
      .width = rows.width,
      .inverse = rows.inverse};
  if (rows.rotation == nullptr) return work;
  ROFORMER_ASSERT(rows.rotation->cosine.is_contiguous() && rows.rotation->sine.is_contiguous());
  work.rotary_width = rows.rotation->width();
  work.interleaved = rows.rotation->layout == RotaryLayout::interleaved;
  work.cosine = rows.rotation->cosine.const_data_ptr<A>();
  work.sine = rows.rotation->sine.const_data_ptr<A>();
  work.positions = rows.rotation->cosine.size(0);
  return work;
}

}  // namespace

void rotate_rows(const RotationRows& rows) {
  with_type(rows.source.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const kernels::Rotate<T> work = work_on<T>(rows);
    if (form_of(rows.source) == Form::gpu_kernels) {
      return gpu::rotate<T>({work}, rows.tokens, rows.source.device());
    }
    for_rows(rows.tokens, rows.heads * rows.width, [&](std::int64_t begin, std::int64_t end) {
      kernels::table<T>().rotate(work, begin, end);
    });
  });
}

void rotate_parts(const std::vector<RotationRows>& parts, const at::Tensor& sums) {
  const RotationRows& first = parts.front();
  if (form_of(first.source) != Form::gpu_kernels) {
    std::int64_t column = 0;
    for (const RotationRows& part : parts) {
      rotate_rows(part);
      const std::int64_t columns = part.heads * part.width;
      if (sums.defined()) {
        const at::Tensor written = part.destination.as_strided(
            {part.tokens, columns}, {part.destination_row, 1},
            part.destination.storage_offset() + part.destination_offset);
        sums.narrow(0, column, columns).add_(column_sums(written));
      }
      column += columns;
    }
    return;
  }
  with_type(first.source.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using A = kernels::Accumulate<T>;
    std::vector<kernels::Rotate<T>> works;
    for (const RotationRows& part : parts) works.push_back(work_on<T>(part));
    gpu::rotate<T>(works, first.tokens, first.source.device(),
                   sums.defined() ? sums.mutable_data_ptr<A>() : nullptr);
  });
}

at::Tensor rotated(const at::Tensor& x, const Rotation& rotation) {
  ROFORMER_ASSERT(x.dim() == 4 && rotation.cosine.size(0) == x.size(2));
  if (form_of(x) == Form::composed) return composed_rotation(x, rotation);
  GradientRecorder recorder("position/rotate", {x});
  return recorder.finish(rotate(x.detach(), rotation, false),
                         [rotation](const Gradients& gradients) -> Gradients {
                           return {rotate(gradients[0], rotation, true)};
                         });
}

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

at::Tensor PackedHeads::part(const at::Tensor& packed, std::int64_t which) const {
  const std::int64_t first = which == 0 ? 0 : heads + (which - 1) * key_value_heads;
  const std::int64_t count = which == 0 ? heads : key_value_heads;
  return packed.narrow(1, first * head_width(), count * head_width());
}

namespace {

// Neighbouring heads that are rotated alike.
struct HeadRange {
  std::int64_t first = 0;
  std::int64_t heads = 0;
  const Rotation* rotation = nullptr;  // null: not rotated
};

// Queries, keys and values.
std::array<HeadRange, 3> three_ranges(const PackedHeads& packed,
                                      const std::optional<RotationPair>& rotation) {
  const std::int64_t heads = packed.heads, shared = packed.key_value_heads;
  std::array<HeadRange, 3> ranges{{{.heads = heads},
                                   {.first = heads, .heads = shared},
                                   {.first = heads + shared, .heads = shared}}};
  if (rotation) {
    ranges[0].rotation = &rotation->query;
    ranges[1].rotation = &rotation->key;
    if (rotation->value) ranges[2].rotation = &rotation->key;
  }
  return ranges;
}

bool rotated_alike(const HeadRange& a, const HeadRange& b) {
  if (a.rotation == nullptr || b.rotation == nullptr) return a.rotation == b.rotation;
  return a.rotation->cosine.is_same(b.rotation->cosine);
}

// The rows of q, k and v; neighbours that are rotated alike are one part.
std::vector<RotationRows> packed_rows(const PackedHeads& packed,
                                      const std::optional<RotationPair>& rotation,
                                      const at::Tensor& from, const at::Tensor& to,
                                      const at::Tensor& bias) {
  std::vector<HeadRange> ranges;
  for (const HeadRange& range : three_ranges(packed, rotation)) {
    if (!ranges.empty() && rotated_alike(ranges.back(), range)) {
      ranges.back().heads += range.heads;
    } else {
      ranges.push_back(range);
    }
  }
  const std::int64_t row = from.size(1), width = packed.head_width();
  std::vector<RotationRows> rows;
  for (const HeadRange& range : ranges) {
    const std::int64_t offset = range.first * width;
    rows.push_back({.source = from,
                    .source_offset = offset,
                    .source_row = row,
                    .source_head = width,
                    .destination = to,
                    .destination_offset = offset,
                    .destination_row = row,
                    .destination_head = width,
                    .tokens = from.size(0),
                    .heads = range.heads,
                    .width = width,
                    .bias = bias.defined() ? bias.narrow(0, offset, range.heads * width) : bias,
                    .rotation = range.rotation});
  }
  return rows;
}

// From the gradients of q, k and v [T, N, D], that of packed.projected. Its sums over the tokens
// are added to `sums`.
at::Tensor rotated_back(const PackedHeads& packed, const std::optional<RotationPair>& rotation,
                        const Gradients& gradients, const at::Tensor& sums) {
  const at::Tensor result = at::empty_like(packed.projected);
  const std::int64_t tokens = result.size(0), width = packed.head_width();
  const auto ranges = three_ranges(packed, rotation);
  std::vector<RotationRows> rows;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const HeadRange& range = ranges[i];
    const std::int64_t columns = range.heads * width;
    const at::Tensor gradient =
        gradients[i].defined() ? gradients[i] : at::zeros({tokens, columns}, result.options());
    rows.push_back({.source = gradient.reshape({tokens, columns}).contiguous(),
                    .source_row = columns,
                    .source_head = width,
                    .destination = result,
                    .destination_offset = range.first * width,
                    .destination_row = result.size(1),
                    .destination_head = width,
                    .tokens = tokens,
                    .heads = range.heads,
                    .width = width,
                    .rotation = range.rotation,
                    .inverse = true});
  }
  rotate_parts(rows, sums);
  return result;
}

// Heads [T, N, D] rotated at their tokens' positions.
at::Tensor rotated_heads(const at::Tensor& heads, const Rotation& rotation) {
  return rotated(heads.transpose(0, 1).unsqueeze(0), rotation).squeeze(0).transpose(0, 1);
}

QueryKeyValue split(const PackedHeads& packed, const at::Tensor& all) {
  const auto heads = [&](std::int64_t which) {
    return packed.part(all, which).unflatten(1, {-1, packed.head_width()});
  };
  return {.query = heads(0), .key = heads(1), .value = heads(2)};
}

QueryKeyValue composed_heads(const PackedHeads& packed,
                             const std::optional<RotationPair>& rotation) {
  QueryKeyValue heads =
      split(packed, packed.bias.defined()
                        ? packed.projected + packed.bias.to(packed.projected.scalar_type())
                        : packed.projected);
  if (!rotation) return heads;
  heads.query = rotated_heads(heads.query, rotation->query);
  heads.key = rotated_heads(heads.key, rotation->key);
  if (rotation->value) heads.value = rotated_heads(heads.value, rotation->key);
  return heads;
}

}  // namespace

void rotate_in_place(const PackedHeads& packed, const at::Tensor& rows, const at::Tensor& bias,
                     const std::optional<RotationPair>& rotation, bool inverse) {
  std::vector<RotationRows> parts = packed_rows(packed, rotation, rows, rows, bias);
  for (RotationRows& part : parts) {
    part.inverse = inverse;
    if (part.rotation != nullptr || bias.defined()) rotate_rows(part);
  }
}

// One autograd node with three outputs: views of one tensor would each get a gradient of the whole
// tensor's size.
QueryKeyValue biased_and_rotated(const PackedHeads& packed,
                                 const std::optional<RotationPair>& rotation) {
  if (form_of(packed.projected) == Form::composed) return composed_heads(packed, rotation);
  GradientRecorder recorder("position/rotate_packed", {packed.projected, packed.bias});
  const at::ScalarType wide = accumulate_type(packed.projected.scalar_type());
  const at::Tensor bias =
      packed.bias.defined() ? packed.bias.detach().to(wide).contiguous() : at::Tensor();
  const at::Tensor input = packed.projected.detach().contiguous(), output = at::empty_like(input);
  rotate_parts(packed_rows(packed, rotation, input, output, bias));
  const PackedHeads held{.projected = output.detach(),
                         .heads = packed.heads,
                         .key_value_heads = packed.key_value_heads};
  const QueryKeyValue views = split(held, output);
  const std::vector<at::Tensor> made = recorder.finish(
      {views.query, views.key, views.value},
      [held, rotation, parameter = packed.bias, wide](const Gradients& gradients) -> Gradients {
        if (!parameter.defined()) return {rotated_back(held, rotation, gradients, {}), {}};
        const at::Tensor& like = held.projected;
        const ParameterGradient sums(parameter, like.size(1), like.options().dtype(wide));
        return {rotated_back(held, rotation, gradients, sums.total), sums.returned};
      });
  return {.query = made[0], .key = made[1], .value = made[2]};
}

}  // namespace roformer
