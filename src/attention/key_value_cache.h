// Keys and values of the places that a decoder has seen, layer by layer, so that one more token
// costs one row of attention. Memory doubles when it is full, so that a step appends in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "attention/attend.h"
#include "position/positions.h"

namespace roformer {

class KeyValueCache {
 public:
  // Begins a step whose tokens stand at these places; every layer then appends once.
  void begin_step(const Positions& places);
  // Where all keys stand, those of the step last.
  const Positions& positions() const { return positions_; }
  // Places held; 0 before the first step.
  std::int64_t length() const { return positions_.count(); }

  // Adds the step's keys and values, [B, H, L, D], in the form that to_cache() gives. Returns those
  // of all places: views [B, H, length(), D] that the next step's append may invalidate.
  KeyValue append(std::int64_t layer, const KeyValue& added);

 private:
  Positions positions_;
  std::vector<KeyValue> layers_;  // [B, H, capacity, D]
};

}  // namespace roformer
