// The keys and values of each layer for the tokens decoded so far, so that one more token costs one
// row of attention. Capacity doubles when full, so steps append in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "attention/attend.h"

namespace roformer {

class KeyValueCache {
 public:
  // Appends keys and values [B, H, L, D] after the first `held`. Returns views
  // [B, H, held + L, D] of all.
  KeyValue append(std::int64_t layer, const KeyValue& added, std::int64_t held);
  // Views of a layer's first `held` tokens; undefined tensors if it has none.
  KeyValue held(std::int64_t layer, std::int64_t held) const;
  // Keeps only the tokens with these indices in every layer, int64 [kept] in order.
  void keep(const at::Tensor& indices);
  // Row i continues the old row sources[i]. Rows that stay in place are not copied.
  void reorder(std::span<const std::int64_t> sources);

 private:
  std::vector<KeyValue> layers_;  // [B, H, capacity, D]
  std::int64_t used_ = 0;
};

}  // namespace roformer
