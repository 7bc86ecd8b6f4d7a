// Splits rows over LibTorch's threads, with column sums that do not depend on the number of
// threads. No loop waits for a thread that has lost its core to another process.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace roformer {

// Rows of one piece of work: about a megabyte of a row-major [rows, columns] tensor.
inline std::int64_t rows_per_piece(std::int64_t columns) {
  return std::max<std::int64_t>(1, (std::int64_t{1} << 17) / std::max<std::int64_t>(1, columns));
}

// Calls function(0) .. function(count - 1) in parallel. Each thread begins with a share of adjacent
// pieces, the same one in every loop, so that its cache still holds what it wrote before. Then it
// takes what is left of the other shares: a thread that shares its core with another process delays
// the loop by one piece, not by the rest of its share.
template <typename Function>
void for_pieces(std::int64_t count, const Function& function) {
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  const std::int64_t threads = std::min<std::int64_t>(count, at::get_num_threads());
  if (threads <= 1 || at::in_parallel_region()) {
    for (std::int64_t i = 0; i < count; ++i) function(i);
    return;
  }
  std::vector<Share> shares(static_cast<std::size_t>(threads));
  for (std::int64_t t = 0; t < threads; ++t) {
    shares[static_cast<std::size_t>(t)].next = count * t / threads;
    shares[static_cast<std::size_t>(t)].end = count * (t + 1) / threads;
  }
  at::parallel_for(0, threads, 1, [&](std::int64_t first, std::int64_t) {
    for (std::int64_t t = 0; t < threads; ++t) {
      Share& share = shares[static_cast<std::size_t>((first + t) % threads)];
      for (std::int64_t i = share.next++; i < share.end; i = share.next++) function(i);
    }
  });
}

// Calls function(begin, end) over pieces of 0 .. rows-1 in parallel.
template <typename Function>
void for_rows(std::int64_t rows, std::int64_t columns, const Function& function) {
  const std::int64_t piece = rows_per_piece(columns);
  for_pieces((rows + piece - 1) / piece,
             [&](std::int64_t i) { function(i * piece, std::min(rows, (i + 1) * piece)); });
}

// Calls function(0) .. function(count - 1): each thread takes the next one when it is free, so that
// a long call delays no other. Then calls at_end() on every thread that took part.
template <typename Function, typename AtEnd>
void for_each_in_turn(std::int64_t count, const Function& function, const AtEnd& at_end) {
  std::atomic<std::int64_t> next = 0;
  const std::int64_t threads = std::min<std::int64_t>(count, at::get_num_threads());
  at::parallel_for(0, threads, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = next++; i < count; i = next++) function(i);
    at_end();
  });
}

// The same as for_rows, with column sums: function(begin, end, partial) adds to partial [sums,
// columns] of A. Returns the sum of all partials, [sums, columns], in the order of the rows. The
// shape alone decides the pieces, so the result does not depend on the number of threads.
template <typename A, typename Function>
at::Tensor for_rows_with_sums(std::int64_t rows, std::int64_t columns, std::int64_t sums,
                              const Function& function) {
  constexpr std::int64_t kPieces = 16;
  const std::int64_t piece = std::max<std::int64_t>(1, (rows + kPieces - 1) / kPieces);
  const std::int64_t pieces = std::max<std::int64_t>(1, (rows + piece - 1) / piece);
  const at::Tensor partial =
      at::zeros({pieces, sums, columns}, at::TensorOptions().dtype(c10::CppTypeToScalarType<A>()));
  A* const numbers = partial.mutable_data_ptr<A>();
  for_pieces(pieces, [&](std::int64_t i) {
    function(i * piece, std::min(rows, (i + 1) * piece), numbers + i * sums * columns);
  });
  return partial.sum(0);
}

// Temporary memory that a thread keeps from call to call: meant to be thread_local. A call may
// invalidate the memory that the previous one returned.
template <typename T>
class Scratch {
 public:
  T* operator()(std::int64_t count) {
    if (count > static_cast<std::int64_t>(size_)) {
      memory_.reset(new (std::align_val_t{64}) T[static_cast<std::size_t>(count)]);
      size_ = static_cast<std::size_t>(count);
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(T* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace roformer
