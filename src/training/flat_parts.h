// The flat buffers of the parameters, cut into one contiguous part for each process. Each process
// keeps the optimiser's moments of its part only (ZeRO, Rajbhandari 2020, stage 1).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "training/distributed/processes.h"

namespace roformer {

class FlatParts {
 public:
  // A part is a whole number of pieces. Sums over the buffer are taken by piece, so that the sums
  // of all parts together are those of the whole.
  static constexpr std::int64_t kPiece = 1 << 15;

  FlatParts(std::int64_t size, std::int64_t processes);

  std::int64_t begin(std::int64_t rank) const;
  std::int64_t end(std::int64_t rank) const;
  std::int64_t size(std::int64_t rank) const { return end(rank) - begin(rank); }
  std::int64_t processes() const { return processes_; }

  // values [size]: sums this process's part over all processes in the order of their ranks. If
  // `onto` [part] is defined, adds the sum to it. Otherwise writes it into `values` and leaves the
  // other parts unchanged. Exchanges a few MiB at a time.
  void sum_own(Processes& processes, const at::Tensor& values, const at::Tensor& onto = {}) const;
  // values [size]: sends each process's part to all. The part is `own` [part] if that is defined,
  // else the part in `values`. If `wanted` is false, `values` is not filled here.
  void gather(Processes& processes, const at::Tensor& values, const at::Tensor& own = {},
              bool wanted = true) const;
  // values [size] of the first process (undefined in the others): each process gets its part in
  // `own` [part].
  void spread(Processes& processes, const at::Tensor& values, const at::Tensor& own) const;

 private:
  std::int64_t size_;
  std::int64_t processes_;
  std::int64_t part_;

  std::int64_t slice() const;  // numbers of a part exchanged at a time
};

}  // namespace roformer
