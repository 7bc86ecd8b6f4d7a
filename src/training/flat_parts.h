// The flat buffers of the parameters cut into one contiguous part a process, where each process
// keeps the optimiser's moments of its own part only (ZeRO, Rajbhandari 2020, stage 1).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "training/distributed/processes.h"

namespace roformer {

class FlatParts {
 public:
  // A part is a whole number of these: the pieces that sums over the buffer are taken in, so that
  // those of all parts are those of the whole.
  static constexpr std::int64_t kPiece = 1 << 15;

  FlatParts(std::int64_t size, std::int64_t processes);

  std::int64_t begin(std::int64_t rank) const;
  std::int64_t end(std::int64_t rank) const;
  std::int64_t size(std::int64_t rank) const { return end(rank) - begin(rank); }
  std::int64_t processes() const { return processes_; }

  // values [size]: this process's part becomes the sum over all processes in the order of their
  // ranks, added to `onto` [part] where that is defined, else written into `values`. The rest of
  // `values` stays as it is. A few MiB at a time.
  void sum_own(Processes& processes, const at::Tensor& values, const at::Tensor& onto = {}) const;
  // values [size]: every process's own part goes to all. `own` [part] is taken where it is defined,
  // else what stands in `values`. Where `wanted` is false, nothing is kept here.
  void gather(Processes& processes, const at::Tensor& values, const at::Tensor& own = {},
              bool wanted = true) const;
  // The first process's values [size], undefined elsewhere: each keeps its part in `own` [part].
  void spread(Processes& processes, const at::Tensor& values, const at::Tensor& own) const;

 private:
  std::int64_t size_;
  std::int64_t processes_;
  std::int64_t part_;

  std::int64_t slice() const;  // numbers of a part that are exchanged at a time
};

}  // namespace roformer
