// Which micro-batches a process takes. All processes together walk through the batches 0, 1, 2, …
// without a gap, whatever their number: of n processes the one of rank r takes r, r + n, r + 2n, …
#pragma once

#include <cstdint>

namespace roformer {

struct BatchNumbers {
  std::int64_t accumulation = 1;  // micro-batches that this process puts into a step
  std::int64_t rank = 0;
  std::int64_t processes = 1;

  // Of all processes.
  std::int64_t per_step() const { return accumulation * processes; }
  // The index of this process's i-th micro-batch of a step among those of all.
  std::int64_t index_in_step(std::int64_t i) const { return i * processes + rank; }
  // The number of this process's i-th micro-batch, counted from the step that begins with `first`.
  std::int64_t number(std::int64_t first, std::int64_t i) const {
    return first + i * processes + rank;
  }
};

}  // namespace roformer
