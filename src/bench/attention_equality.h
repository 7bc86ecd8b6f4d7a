// Whether attention by tiles (tensor/tiled_attention.h) gives on a device what it gives on the CPU:
// outputs and all gradients in bfloat16, over texts of several tiles, for each kind of bias.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/device.h"

namespace roformer {

struct AttentionEquality {
  std::int64_t cases = 0;
  double difference = 0;  // the largest, as a share of the largest number of its tensor
  std::string worst;      // where: "width 64, causal, table: gradient of the keys"
  std::string problem;    // why the device, or the CPU, has no such attention

  bool passed() const;
};

// Rounding of bfloat16, on either side.
inline constexpr double kAllowedAttentionDifference = 0.03;

AttentionEquality compare_attention(at::Device device);

}  // namespace roformer
