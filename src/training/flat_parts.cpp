#include "training/flat_parts.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "base/error.h"

namespace roformer {

// Numbers of all parts together that are exchanged at a time.
constexpr std::int64_t kSlice = 1 << 20;

FlatParts::FlatParts(std::int64_t size, std::int64_t processes)
    : size_(size), processes_(processes) {
  const std::int64_t pieces = (size + kPiece - 1) / kPiece;
  part_ = (pieces + processes - 1) / processes * kPiece;
}

std::int64_t FlatParts::begin(std::int64_t rank) const {
  return std::min(size_, rank * part_);
}

std::int64_t FlatParts::end(std::int64_t rank) const {
  return std::min(size_, (rank + 1) * part_);
}

std::int64_t FlatParts::slice() const {
  return std::min(part_, std::max(kPiece, kSlice / processes_));
}

void FlatParts::sum_own(Processes& processes, const at::Tensor& values,
                        const at::Tensor& onto) const {
  ROFORMER_ASSERT(values.numel() == size_ && processes.count() == processes_);
  const std::int64_t own_begin = begin(processes.rank()), own = size(processes.rank());
  const std::int64_t width = slice();
  const at::Tensor sent = at::empty({processes_, width}, values.options());
  const at::Tensor received = at::empty({processes_, width}, values.options());
  // The parts are walked through side by side.
  for (std::int64_t done = 0; done < part_; done += width) {
    for (std::int64_t r = 0; r < processes_; ++r) {
      const std::int64_t count = std::clamp<std::int64_t>(size(r) - done, 0, width);
      if (count > 0) sent[r].narrow(0, 0, count).copy_(values.narrow(0, begin(r) + done, count));
    }
    processes.begin_exchange(received, sent)->wait();
    const std::int64_t count = std::clamp<std::int64_t>(own - done, 0, width);
    if (count == 0) continue;
    const at::Tensor total =
        onto.defined() ? onto.narrow(0, done, count) : values.narrow(0, own_begin + done, count);
    if (!onto.defined()) total.zero_();
    for (std::int64_t r = 0; r < processes_; ++r) total.add_(received[r].narrow(0, 0, count));
  }
}

void FlatParts::gather(Processes& processes, const at::Tensor& values, const at::Tensor& own,
                       bool wanted) const {
  ROFORMER_ASSERT(processes.count() == processes_);
  const std::int64_t own_begin = begin(processes.rank()), own_size = size(processes.rank());
  const std::int64_t width = slice();
  const at::TensorOptions options = own.defined() ? own.options() : values.options();
  const at::Tensor sent = at::empty({width}, options);
  const at::Tensor all = at::empty({processes_, width}, options);
  for (std::int64_t done = 0; done < part_; done += width) {
    const std::int64_t mine = std::clamp<std::int64_t>(own_size - done, 0, width);
    if (mine > 0) {
      sent.narrow(0, 0, mine)
          .copy_(own.defined() ? own.narrow(0, done, mine)
                               : values.narrow(0, own_begin + done, mine));
    }
    processes.begin_gather(all, sent)->wait();
    for (std::int64_t r = 0; wanted && r < processes_; ++r) {
      const std::int64_t count = std::clamp<std::int64_t>(size(r) - done, 0, width);
      if (count > 0) values.narrow(0, begin(r) + done, count).copy_(all[r].narrow(0, 0, count));
    }
  }
}

void FlatParts::spread(Processes& processes, const at::Tensor& values,
                       const at::Tensor& own) const {
  const std::int64_t own_begin = begin(processes.rank()), own_end = end(processes.rank());
  const std::int64_t width = std::min(kSlice, size_);
  const at::Tensor slice = at::empty({width}, own.options());
  for (std::int64_t done = 0; done < size_; done += width) {
    const std::int64_t count = std::min(width, size_ - done);
    if (processes.first()) slice.narrow(0, 0, count).copy_(values.narrow(0, done, count));
    processes.take_from_first(slice);
    const std::int64_t from = std::max(done, own_begin), to = std::min(done + count, own_end);
    if (from >= to) continue;
    own.narrow(0, from - own_begin, to - from).copy_(slice.narrow(0, from - done, to - from));
  }
}

}  // namespace roformer
