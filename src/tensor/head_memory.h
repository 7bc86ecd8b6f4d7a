// Memory for operations that compute one head of one text at a time.
#pragma once

#include <ATen/ops/empty.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/parallel.h"

namespace roformer {

// A thread's memory, given out from the beginning to each owner and kept for the next. A thread has
// one owner at a time.
template <typename A>
class HeadMemory {
 public:
  A* operator()(std::int64_t count) {
    thread_local std::vector<Scratch<A>> blocks;
    if (taken_ == blocks.size()) blocks.emplace_back();
    return blocks[taken_++](count);
  }

 private:
  std::size_t taken_ = 0;
};

// [B, H, L, D] like x, with the tokens of a text side by side, as the layers around attention hold
// them.
inline at::Tensor like_tokens(const at::Tensor& x, at::ScalarType type) {
  return at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options().dtype(type))
      .transpose(1, 2);
}

}  // namespace roformer
