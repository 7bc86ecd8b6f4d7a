#include "attention/row_moves.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "tensor/on_device.h"

namespace roformer {

RowMoves::RowMoves(std::span<const std::int64_t> sources, std::int64_t rows)
    : sources_(sources.begin(), sources.end()), rows_(rows) {
  std::vector<std::int64_t> readers(static_cast<std::size_t>(rows), 0);  // copies still to make
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(rows), kSpare);
  for (std::int64_t to = 0; to < count(); ++to) {
    const std::int64_t from = sources_[static_cast<std::size_t>(to)];
    ROFORMER_ASSERT(from >= 0 && from < rows);
    if (from == to || to >= rows) continue;
    wanted[static_cast<std::size_t>(to)] = from;
    ++readers[static_cast<std::size_t>(from)];
  }
  // Overwrites a row that no copy still reads, then the row it was copied from, and so on.
  const auto follow = [&](std::int64_t to) {
    while (wanted[static_cast<std::size_t>(to)] != kSpare &&
           readers[static_cast<std::size_t>(to)] == 0) {
      const std::int64_t from = wanted[static_cast<std::size_t>(to)];
      copies_.push_back({.from = from, .to = to});
      wanted[static_cast<std::size_t>(to)] = kSpare;
      --readers[static_cast<std::size_t>(from)];
      to = from;
    }
  };
  for (std::int64_t to = 0; to < rows; ++to) follow(to);
  // Only cycles remain, in which every row is read once: one row of each moves to the spare row.
  for (std::int64_t first = 0; first < rows; ++first) {
    if (wanted[static_cast<std::size_t>(first)] == kSpare) continue;
    copies_.push_back({.from = first, .to = kSpare});
    std::int64_t to = first;
    for (;;) {
      const std::int64_t from = wanted[static_cast<std::size_t>(to)];
      wanted[static_cast<std::size_t>(to)] = kSpare;
      if (from == first) break;
      copies_.push_back({.from = from, .to = to});
      to = from;
    }
    copies_.push_back({.from = kSpare, .to = to});
  }
}

at::Tensor RowMoves::apply(const at::Tensor& memory, std::int64_t used) const {
  ROFORMER_ASSERT(memory.size(0) == rows_);
  if (count() > rows_) {
    std::vector<std::int64_t> sizes = memory.sizes().vec();
    sizes[0] = count();
    const at::Tensor larger = at::empty(sizes, memory.options());
    const at::Tensor index = on_device(at::tensor(sources_, at::kLong), memory.device());
    larger.narrow(2, 0, used).copy_(at::index_select(memory.narrow(2, 0, used), 0, index));
    return larger;
  }
  if (memory.is_cpu() && memory.dim() == 4 && memory.is_contiguous()) {
    copy_heads(memory, used);
    return memory.narrow(0, 0, count());
  }
  at::Tensor spare;
  for (const Copy& copy : copies_) {
    const at::Tensor from =
        copy.from == kSpare ? spare : memory.select(0, copy.from).narrow(1, 0, used);
    if (copy.to == kSpare) {
      spare = from.clone();
    } else {
      memory.select(0, copy.to).narrow(1, 0, used).copy_(from);
    }
  }
  return memory.narrow(0, 0, count());
}

// Every head is copied in the same way, so threads share the heads.
void RowMoves::copy_heads(const at::Tensor& memory, std::int64_t used) const {
  const auto bytes = static_cast<std::int64_t>(memory.element_size());
  const std::int64_t heads = memory.size(1);
  const std::int64_t head = memory.size(2) * memory.size(3) * bytes;
  const auto held = static_cast<std::size_t>(used * memory.size(3) * bytes);
  auto* const begin = static_cast<std::byte*>(memory.data_ptr());
  at::parallel_for(0, heads, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::byte> spare(held);
    for (std::int64_t i = first; i < last; ++i) {
      const auto row_at = [&](std::int64_t row) {
        return row == kSpare ? spare.data() : begin + (row * heads + i) * head;
      };
      for (const Copy& copy : copies_) std::memcpy(row_at(copy.to), row_at(copy.from), held);
    }
  });
}

}  // namespace roformer
