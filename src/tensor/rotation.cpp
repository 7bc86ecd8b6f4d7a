#include "tensor/rotation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "tensor/dispatch.h"
#include "tensor/gpu/row_kernels.h"
#include "tensor/gradient.h"
#include "tensor/loops.h"
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

}  // namespace roformer
