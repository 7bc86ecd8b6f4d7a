// Keys and values of what a decoder has seen, layer by layer, so that one more token costs one row
// of attention. Memory doubles when it is full, so that a step appends in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "attention/attend.h"

namespace roformer {

class KeyValueCache {
 public:
  // Writes keys and values [B, H, L, D] behind the `held` that are there. Returns views
  // [B, H, held + L, D] of all.
  KeyValue append(std::int64_t layer, const KeyValue& added, std::int64_t held);
  // Views of the first `held` tokens' of a layer; undefined tensors where there are none.
  KeyValue held(std::int64_t layer, std::int64_t held) const;
  // Of every layer's tokens those of these indices, int64 [kept] in order.
  void keep(const at::Tensor& indices);
  // Row i goes on from row sources[i]. Rows that stay are not copied.
  void reorder(std::span<const std::int64_t> sources);

 private:
  std::vector<KeyValue> layers_;  // [B, H, capacity, D]
  std::int64_t used_ = 0;
};

}  // namespace roformer
