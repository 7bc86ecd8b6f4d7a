#include "tensor/gpu/row_kernels.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "base/error.h"
#include "tensor/gpu/launch.h"

namespace roformer::gpu {
namespace {

template <typename T>
const char* type_name() {
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, c10::BFloat16>) return "c10::BFloat16";
  return "float";
}

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

// How many neighbouring columns a thread moves at once: four where rows and tensors allow it.
std::int64_t neighbours(std::int64_t columns, std::size_t size,
                        std::initializer_list<const void*> tensors) {
  constexpr std::int64_t kMost = 4;
  if (columns % kMost != 0) return 1;
  const std::size_t bytes = std::min<std::size_t>(kMost * size, 16);
  for (const void* tensor : tensors) {
    if (reinterpret_cast<std::uintptr_t>(tensor) % bytes != 0) return 1;
  }
  return kMost;
}

// Of a rotation: every part that a thread may have begins at a multiple.
template <typename T>
std::int64_t neighbours(const kernels::Rotate<T>& work) {
  const std::int64_t half = work.rotary_width / 2, rest = work.width - work.rotary_width;
  const auto of = [&](std::int64_t columns) {
    return neighbours(columns, sizeof(T), {work.input, work.output});
  };
  std::int64_t vector =
      half > 0 ? neighbours(half, sizeof(kernels::Accumulate<T>), {work.cosine, work.sine})
               : of(rest);
  for (const std::int64_t columns :
       {half, rest, work.input_row, work.input_head, work.output_row, work.output_head}) {
    vector = std::min(vector, of(columns));
  }
  return vector;
}

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kThreads = 256;

// Threads over columns, and pieces of the rows below them: enough blocks for a large GPU, few
// enough that sums over the pieces cost little. They depend on the shape alone, and so do the sums.
struct ColumnGrid {
  std::int64_t vector = 1;
  std::int64_t threads = kWarp;
  std::int64_t blocks = 1;
  std::int64_t pieces = 1;
};

ColumnGrid column_grid(std::int64_t rows, std::int64_t columns, std::int64_t vector) {
  constexpr std::int64_t kBlocks = 2048, kRowsOfPiece = 8;
  ColumnGrid grid{.vector = vector};
  const std::int64_t units = columns / vector;
  grid.threads = std::min<std::int64_t>(rounded_up(units, kWarp), 128);
  grid.blocks = (units + grid.threads - 1) / grid.threads;
  const std::int64_t most = std::max<std::int64_t>(1, kBlocks / grid.blocks);
  grid.pieces = std::clamp<std::int64_t>(rows / kRowsOfPiece, 1, most);
  return grid;
}

template <typename Work>
void launch_on_columns(const char* kernel, const char* type, const ColumnGrid& grid,
                       const Work& work, std::int64_t rows, at::Device device) {
  launch({.source = "activations",
          .kernel = fmt::format("{}<{}, {}>", kernel, type, grid.vector),
          .blocks_x = grid.blocks,
          .blocks_y = grid.pieces,
          .threads = grid.threads,
          .values = {&work, &rows}},
         device);
}

template <typename T>
at::Tensor partial_sums(at::IntArrayRef sizes, at::Device device) {
  const at::ScalarType type = std::is_same_v<T, double> ? at::kDouble : at::kFloat;
  return at::empty(sizes, at::TensorOptions().dtype(type).device(device));
}

// Threads over a row of which each keeps its columns in registers.
struct RowGrid {
  std::int64_t vector = 1;
  std::int64_t threads = kWarp;
  std::int64_t owned = 1;  // groups of `vector` columns a thread
};

RowGrid row_grid(std::int64_t columns, std::int64_t vector) {
  RowGrid grid{.vector = vector};
  const std::int64_t units = columns / vector;
  grid.threads = std::min(rounded_up(units, kWarp), kThreads);
  grid.owned = (units + grid.threads - 1) / grid.threads;
  return grid;
}

template <typename T>
RowGrid row_grid(const kernels::ResidualNorm<T>& work) {
  return row_grid(work.columns, neighbours(work.columns, sizeof(T),
                                           {work.input, work.residual, work.sum, work.normed,
                                            work.normed_gradient, work.sum_gradient,
                                            work.input_gradient, work.residual_gradient}));
}

template <typename T>
std::string row_kernel(const char* name, const RowGrid& grid) {
  return fmt::format("{}<{}, {}, {}>", name, type_name<T>(), grid.vector, grid.owned);
}

}  // namespace

template <typename T>
void bias_activation_forward(const kernels::BiasActivation<T>& work, std::int64_t rows,
                             at::Device device) {
  const std::int64_t vector = neighbours(work.columns, sizeof(T), {work.input, work.output});
  launch_on_columns("bias_activation_forward", type_name<T>(),
                    column_grid(rows, work.columns, vector), work, rows, device);
}

template <typename T>
at::Tensor bias_activation_backward(const kernels::BiasActivation<T>& work, std::int64_t rows,
                                    at::Device device) {
  const std::int64_t vector =
      neighbours(work.columns, sizeof(T), {work.input, work.output, work.output_gradient});
  const ColumnGrid grid = column_grid(rows, work.columns, vector);
  const at::Tensor sums = partial_sums<T>({grid.pieces, work.columns}, device);
  kernels::BiasActivation<T> with_sums = work;
  with_sums.bias_gradient = sums.template mutable_data_ptr<kernels::Accumulate<T>>();
  launch_on_columns("bias_activation_backward", type_name<T>(), grid, with_sums, rows, device);
  return sums.sum(0);
}

template <typename T>
void gated_activation_forward(const kernels::GatedActivation<T>& work, std::int64_t rows,
                              at::Device device) {
  const std::int64_t vector = neighbours(work.columns, sizeof(T), {work.input, work.output});
  launch_on_columns("gated_activation_forward", type_name<T>(),
                    column_grid(rows, work.columns, vector), work, rows, device);
}

template <typename T>
at::Tensor gated_activation_backward(const kernels::GatedActivation<T>& work, std::int64_t rows,
                                     at::Device device) {
  const std::int64_t vector =
      neighbours(work.columns, sizeof(T), {work.input, work.output, work.output_gradient});
  const ColumnGrid grid = column_grid(rows, work.columns, vector);
  const at::Tensor sums = partial_sums<T>({grid.pieces, 2 * work.columns}, device);
  kernels::GatedActivation<T> with_sums = work;
  with_sums.bias_gradient = sums.template mutable_data_ptr<kernels::Accumulate<T>>();
  launch_on_columns("gated_activation_backward", type_name<T>(), grid, with_sums, rows, device);
  return sums.sum(0);
}

template <typename T>
void residual_norm_forward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                           at::Device device) {
  const RowGrid grid = row_grid(work);
  launch({.source = "residual_norm",
          .kernel = row_kernel<T>("residual_norm_forward", grid),
          .blocks_x = rows,
          .threads = grid.threads,
          .values = {&work}},
         device);
}

template <typename T>
at::Tensor residual_norm_backward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                                  at::Device device) {
  constexpr std::int64_t kPieces = 512, kRowsOfPiece = 4;
  const RowGrid grid = row_grid(work);
  const std::int64_t pieces = std::clamp<std::int64_t>(rows / kRowsOfPiece, 1, kPieces);
  const at::Tensor sums = partial_sums<T>({pieces, 3, work.columns}, device);
  auto* const to_sums = sums.template mutable_data_ptr<kernels::Accumulate<T>>();
  launch({.source = "residual_norm",
          .kernel = row_kernel<T>("residual_norm_backward", grid),
          .blocks_x = pieces,
          .threads = grid.threads,
          .values = {&work, &rows, &to_sums}},
         device);
  return sums.sum(0);
}

template <typename T>
void rotate(const kernels::Rotate<T>& work, std::int64_t rows, at::Device device) {
  constexpr std::int64_t kBlocks = 4096, kMostRows = std::int64_t{1} << 31;
  ROFORMER_ASSERT(rows < kMostRows);
  const std::int64_t vector = neighbours(work);
  const std::int64_t units = work.heads * (work.width - work.rotary_width / 2) / vector;
  const std::int64_t together = std::max<std::int64_t>(1, kThreads / units);
  const auto count = static_cast<std::uint32_t>(rows);
  launch({.source = "rotate",
          .kernel = fmt::format("rotate<{}, {}>", type_name<T>(), vector),
          .blocks_x = std::min((rows + together - 1) / together, kBlocks),
          .threads = kThreads,
          .values = {&work, &count}},
         device);
}

template <typename T>
void cross_entropy(const CrossEntropyRows<T>& work, at::Device device) {
  launch({.source = "cross_entropy",
          .kernel = fmt::format("cross_entropy<{}>", type_name<T>()),
          .blocks_x = work.rows,
          .threads = std::min(rounded_up(work.row.columns, kWarp), kThreads),
          .values = {&work.row, &work.stride, &work.labels, &work.losses, &work.smoothed,
                     &work.correct}},
         device);
}

#define ROFORMER_FOR_TYPE(T)                                                                      \
  template void bias_activation_forward(const kernels::BiasActivation<T>&, std::int64_t,          \
                                        at::Device);                                              \
  template at::Tensor bias_activation_backward(const kernels::BiasActivation<T>&, std::int64_t,   \
                                               at::Device);                                       \
  template void gated_activation_forward(const kernels::GatedActivation<T>&, std::int64_t,        \
                                         at::Device);                                             \
  template at::Tensor gated_activation_backward(const kernels::GatedActivation<T>&, std::int64_t, \
                                                at::Device);                                      \
  template void residual_norm_forward(const kernels::ResidualNorm<T>&, std::int64_t, at::Device); \
  template at::Tensor residual_norm_backward(const kernels::ResidualNorm<T>&, std::int64_t,       \
                                             at::Device);                                         \
  template void rotate(const kernels::Rotate<T>&, std::int64_t, at::Device);                      \
  template void cross_entropy(const CrossEntropyRows<T>&, at::Device);
ROFORMER_FOR_TYPE(float)
ROFORMER_FOR_TYPE(double)
ROFORMER_FOR_TYPE(c10::BFloat16)
#undef ROFORMER_FOR_TYPE

}  // namespace roformer::gpu
