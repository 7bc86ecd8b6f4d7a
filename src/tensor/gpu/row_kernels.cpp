#include "tensor/gpu/row_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
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

// Whether an address is a multiple of this many bytes. Null counts as a multiple.
bool aligned(const void* numbers, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(numbers) % bytes == 0;
}

// How many neighbouring columns a thread moves at once: 16 bytes or four numbers if the alignment
// of rows, tensors and parameters allows it, else one. Parameters are always moved by 16 bytes.
std::int64_t neighbours(std::int64_t columns, std::size_t size,
                        std::initializer_list<const void*> tensors,
                        std::initializer_list<const void*> parameters = {}) {
  for (const void* parameter : parameters) {
    if (!aligned(parameter, 16)) return 1;
  }
  for (const std::int64_t many : {std::int64_t{8}, std::int64_t{4}}) {
    const std::size_t bytes = static_cast<std::size_t>(many) * size;
    if (columns % many != 0 || (many > 4 && bytes > 16)) continue;
    if (std::ranges::all_of(tensors, [&](const void* tensor) {
          return aligned(tensor, std::min<std::size_t>(bytes, 16));
        })) {
      return many;
    }
  }
  return 1;
}

// The same for a rotation: every part that a thread may process must begin at a multiple.
template <typename T>
std::int64_t neighbours_of_rotation(const kernels::Rotate<T>& work) {
  const std::int64_t half = work.rotary_width / 2, rest = work.width - work.rotary_width;
  const auto of = [&](std::int64_t columns) {
    return neighbours(columns, sizeof(T), {work.input, work.output});
  };
  if (half > 0 && !(aligned(work.cosine, 16) && aligned(work.sine, 16))) return 1;
  std::int64_t vector = of(half > 0 ? half : rest);
  for (const std::int64_t columns :
       {half, rest, work.input_row, work.input_head, work.output_row, work.output_head}) {
    vector = std::min(vector, of(columns));
  }
  return vector;
}

constexpr std::int64_t kScratchBytes = 32 * 8;  // of shared memory, for sums over a block
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kThreads = 256;
// The number for an H100 and H200. Results do not depend on the actual number.
constexpr std::int64_t kMultiprocessors = 132;

// Threads over columns, and pieces of rows for each: enough blocks for a large GPU, but few enough
// that summing the pieces is cheap. Only the shape decides them, so the sums do not vary.
struct ColumnGrid {
  std::int64_t vector = 1;
  std::int64_t threads = kWarp;
  std::int64_t blocks = 1;
  std::int64_t pieces = 1;
};

ColumnGrid column_grid(std::int64_t rows, std::int64_t columns, std::int64_t vector) {
  constexpr std::int64_t kBlocks = 8 * kMultiprocessors, kRowsOfPiece = 8;
  ColumnGrid grid{.vector = vector};
  const std::int64_t units = columns / vector;
  grid.threads = std::min<std::int64_t>(rounded_up(units, kWarp), 128);
  grid.blocks = (units + grid.threads - 1) / grid.threads;
  const std::int64_t most = std::max<std::int64_t>(1, kBlocks / grid.blocks);
  grid.pieces = std::clamp<std::int64_t>(rows / kRowsOfPiece, 1, most);
  return grid;
}

template <typename A>
at::Tensor room_for_sums(at::IntArrayRef sizes, at::Device device) {
  const at::ScalarType type = std::is_same_v<A, double> ? at::kDouble : at::kFloat;
  return at::empty(sizes, at::TensorOptions().dtype(type).device(device));
}

template <typename A>
void add_pieces(const std::vector<PieceSums<A>>& sums, at::Device device) {
  ROFORMER_ASSERT(sums.size() <= kMostSums);
  AllPieceSums<A> work;
  std::ranges::copy(sums, work.each);
  std::int64_t columns = 0;
  for (const PieceSums<A>& each : sums) columns = std::max(columns, each.columns);
  launch({.source = "sums",
          .kernel = std::is_same_v<A, double> ? "add_pieces<double>" : "add_pieces<float>",
          .blocks_x = rounded_up(columns, kWarp) / kWarp,
          .blocks_y = static_cast<std::int64_t>(sums.size()),
          .threads = 32 * kWarp,
          .values = {&work}},
         device);
}

template <typename T>
const char* kernel_prefix(const kernels::BiasActivation<T>&) {
  return "bias_activation";
}
template <typename T>
const char* kernel_prefix(const kernels::GatedActivation<T>&) {
  return "gated_activation";
}
template <typename T>
std::int64_t bias_columns(const kernels::BiasActivation<T>& work) {
  return work.columns;
}
template <typename T>
std::int64_t bias_columns(const kernels::GatedActivation<T>& work) {
  return 2 * work.columns;
}

template <typename T, typename Work>
void launch_on_columns(const char* pass, const Work& work, const ColumnGrid& grid,
                       std::vector<const void*> values, at::Device device) {
  launch({.source = "activations",
          .kernel =
              fmt::format("{}_{}<{}, {}>", kernel_prefix(work), pass, type_name<T>(), grid.vector),
          .blocks_x = grid.blocks,
          .blocks_y = grid.pieces,
          .threads = grid.threads,
          .values = std::move(values)},
         device);
}

// The threads of a row, each with its columns in registers: a warp if these are few enough, else a
// block.
struct RowGrid {
  std::int64_t vector = 1;
  std::int64_t owned = 1;  // groups of `vector` columns a thread
  bool warp = false;
  std::int64_t threads = 0;   // of a block
  std::int64_t together = 1;  // rows of a block at a time
};

RowGrid row_grid(std::int64_t columns, std::int64_t vector) {
  constexpr std::int64_t kMostOwned = 32;  // columns, by a thread of a warp that has a row alone
  const std::int64_t units = columns / vector;
  if (rounded_up(units, kWarp) / kWarp * vector <= kMostOwned) {
    return {.vector = vector,
            .owned = rounded_up(units, kWarp) / kWarp,
            .warp = true,
            .threads = 4 * kWarp,
            .together = 4};
  }
  const std::int64_t threads = std::min(rounded_up(units, kWarp), kThreads);
  return {.vector = vector, .owned = (units + threads - 1) / threads, .threads = threads};
}

template <typename T>
RowGrid row_grid(const kernels::ResidualNorm<T>& work) {
  return row_grid(work.columns, neighbours(work.columns, sizeof(T),
                                           {work.input, work.residual, work.sum, work.normed,
                                            work.normed_gradient, work.sum_gradient,
                                            work.input_gradient, work.residual_gradient},
                                           {work.bias, work.gain, work.shift}));
}

template <typename T>
std::string row_kernel(const char* name, const RowGrid& grid) {
  return fmt::format("{}<{}, {}, {}, {}>", name, type_name<T>(), grid.vector, grid.owned,
                     grid.warp);
}

}  // namespace

template <template <typename> typename Work, typename T>
void activation_forward(const Work<T>& work, std::int64_t rows, at::Device device) {
  const std::int64_t vector = neighbours(work.columns, sizeof(T), {work.input, work.output});
  launch_on_columns<T>("forward", work, column_grid(rows, work.columns, vector), {&work, &rows},
                       device);
}

template <template <typename> typename Work, typename T>
void activation_backward(const Work<T>& work, std::int64_t rows, at::Device device) {
  using A = kernels::Accumulate<T>;
  const std::int64_t columns = bias_columns(work),
                     vector = neighbours(work.columns, sizeof(T),
                                         {work.input, work.output, work.output_gradient});
  const ColumnGrid grid = column_grid(rows, work.columns, vector);
  const at::Tensor sums = room_for_sums<A>({grid.pieces, columns}, device);
  A* const data = sums.template mutable_data_ptr<A>();
  launch_on_columns<T>("backward", work, grid, {&work, &rows, &data}, device);
  add_pieces<A>({{.sums = data,
                  .pieces = grid.pieces,
                  .stride = columns,
                  .columns = columns,
                  .to = work.bias_gradient}},
                device);
}

template <typename T>
void residual_norm_forward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                           at::Device device) {
  const RowGrid grid = row_grid(work);
  launch({.source = "residual_norm",
          .kernel = row_kernel<T>("residual_norm_forward", grid),
          .blocks_x = (rows + grid.together - 1) / grid.together,
          .threads = grid.threads,
          .values = {&work, &rows}},
         device);
}

template <typename T>
void residual_norm_backward(const kernels::ResidualNorm<T>& work, std::int64_t rows,
                            at::Device device) {
  constexpr std::int64_t kPieces = 2 * kMultiprocessors, kRowsOfPiece = 4;
  const RowGrid grid = row_grid(work);
  const std::int64_t pieces = std::clamp<std::int64_t>(rows / kRowsOfPiece, 1, kPieces);
  using A = kernels::Accumulate<T>;
  const at::Tensor sums = room_for_sums<A>({pieces, 3, work.columns}, device);
  A* const data = sums.template mutable_data_ptr<A>();
  launch({.source = "residual_norm",
          .kernel = row_kernel<T>("residual_norm_backward", grid),
          .blocks_x = pieces,
          .threads = grid.threads,
          .values = {&work, &rows, &data}},
         device);
  std::vector<PieceSums<A>> all;
  for (A* const to : {work.bias_gradient, work.gain_gradient, work.shift_gradient}) {
    all.push_back({.sums = data + static_cast<std::int64_t>(all.size()) * work.columns,
                   .pieces = pieces,
                   .stride = 3 * work.columns,
                   .columns = work.columns,
                   .to = to});
  }
  add_pieces<A>(all, device);
}

// Groups of threads go down the rows. If their number is a multiple of the number of positions,
// each group meets one position only and reads the tables once.
template <typename T>
void rotate(const std::vector<kernels::Rotate<T>>& parts, std::int64_t rows, at::Device device,
            kernels::Accumulate<T>* sums) {
  using A = kernels::Accumulate<T>;
  constexpr std::int64_t kBlocks = 4 * kMultiprocessors, kMostRows = std::int64_t{1} << 31;
  const auto count = static_cast<std::int64_t>(parts.size());
  ROFORMER_ASSERT(rows < kMostRows && count > 0 && count <= kMostParts);
  std::int64_t vector = 8, positions = 1;
  for (const kernels::Rotate<T>& part : parts) {
    vector = std::min(vector, neighbours_of_rotation(part));
    positions = std::max(positions, part.positions);
  }
  const auto units = [&](const kernels::Rotate<T>& part) {
    return part.heads * (part.width - part.rotary_width / 2) / vector;
  };
  // A block takes as many whole rows of the largest part as it has threads for.
  std::int64_t most_units = 1;
  for (const kernels::Rotate<T>& part : parts) most_units = std::max(most_units, units(part));
  const std::int64_t threads =
      most_units > kRotateThreads
          ? kRotateThreads
          : std::min<std::int64_t>(rounded_up(kRotateThreads / most_units * most_units, kWarp),
                                   kRotateThreads);
  const auto together = [&](const kernels::Rotate<T>& part) {
    return std::max<std::int64_t>(1, threads / units(part));
  };
  std::int64_t blocks = std::max(kBlocks / positions, std::int64_t{1}) * positions;
  if (blocks > 2 * kBlocks) blocks = kBlocks;
  blocks = std::min(blocks, rows);
  RotatedParts<T> work;
  std::vector<at::Tensor> room;
  std::vector<PieceSums<A>> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const kernels::Rotate<T>& part = parts[static_cast<std::size_t>(i)];
    work.parts[i] = part;
    if (sums == nullptr) continue;
    ROFORMER_ASSERT(part.bias == nullptr);
    const std::int64_t columns = part.heads * part.width, groups = blocks * together(part);
    room.push_back(room_for_sums<A>({groups, columns}, device));
    work.sums[i] = room.back().template mutable_data_ptr<A>();
    all.push_back({.sums = work.sums[i],
                   .pieces = groups,
                   .stride = columns,
                   .columns = columns,
                   .to = sums});
    sums += columns;
  }
  const auto row_count = static_cast<std::uint32_t>(rows);
  launch({.source = "rotate",
          .kernel = fmt::format("rotate<{}, {}, {}>", type_name<T>(), vector, !all.empty()),
          .blocks_x = blocks,
          .blocks_y = count,
          .threads = threads,
          .values = {&work, &row_count}},
         device);
  if (!all.empty()) add_pieces<A>(all, device);
}

template <typename T>
void cross_entropy(const CrossEntropyRows<T>& work, at::Device device) {
  constexpr std::int64_t kMost = 1024;  // threads
  const std::int64_t columns = work.row.columns;
  ROFORMER_ASSERT(columns < (std::int64_t{1} << 30));
  std::int64_t vector = neighbours(work.stride, sizeof(T), {work.row.logits}, {work.row.bias});
  if (rounded_up(columns, vector) > work.stride) vector = 1;
  const std::int64_t bytes = rounded_up(columns, vector) * static_cast<std::int64_t>(sizeof(T));
  const bool shared = bytes <= certain_shared_memory(device) - kScratchBytes;
  launch({.source = "cross_entropy",
          .kernel = fmt::format("cross_entropy<{}, {}, {}>", type_name<T>(), vector, shared),
          .blocks_x = work.rows,
          .threads = std::min(rounded_up((columns + vector - 1) / vector, kWarp), kMost),
          .shared_bytes = shared ? rounded_up(bytes, 16) : 0,
          .values = {&work.row, &work.stride, &work.labels, &work.losses, &work.smoothed,
                     &work.correct}},
         device);
}

#define ROFORMER_FOR_TYPE(T)                                                                       \
  template void activation_forward(const kernels::BiasActivation<T>&, std::int64_t, at::Device);   \
  template void activation_forward(const kernels::GatedActivation<T>&, std::int64_t, at::Device);  \
  template void activation_backward(const kernels::BiasActivation<T>&, std::int64_t, at::Device);  \
  template void activation_backward(const kernels::GatedActivation<T>&, std::int64_t, at::Device); \
  template void residual_norm_forward(const kernels::ResidualNorm<T>&, std::int64_t, at::Device);  \
  template void residual_norm_backward(const kernels::ResidualNorm<T>&, std::int64_t, at::Device); \
  template void rotate(const std::vector<kernels::Rotate<T>>&, std::int64_t, at::Device,           \
                       kernels::Accumulate<T>*);                                                   \
  template void cross_entropy(const CrossEntropyRows<T>&, at::Device);
ROFORMER_FOR_TYPE(float)
ROFORMER_FOR_TYPE(double)
ROFORMER_FOR_TYPE(c10::BFloat16)
#undef ROFORMER_FOR_TYPE

}  // namespace roformer::gpu
