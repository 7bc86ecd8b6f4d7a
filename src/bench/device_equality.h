// Whether a device computes as the CPU does. The same model trains on the same batches with this
// program's own loops on the CPU and with the operations of the device, step by step, under every
// scheme; attention by tiles (tensor/tiled_attention.h) and dropout masks are compared directly. If
// the device is the CPU, it uses the operations that a GPU would use (ComposedForms).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

// Outputs and all gradients of attention by tiles in bfloat16, over texts of several tiles, for
// each kind of bias.
struct AttentionEquality {
  std::int64_t cases = 0;
  double difference = 0;  // the largest, as a share of the largest number of its tensor
  std::string worst;      // the place: "width 64, causal, table: gradient of the keys"
  std::string problem;    // why the device, or the CPU, has no such attention

  bool passed() const;
};

// Rounding of bfloat16, on either side.
inline constexpr double kAllowedAttentionDifference = 0.03;

AttentionEquality compare_attention(at::Device device);

struct DeviceEqualityOptions {
  std::vector<std::string> schemes;
  std::int64_t steps = 100;
};

struct SchemeEquality {
  std::string scheme;
  bool causal = false;
  std::vector<double> host, device;  // the loss of each step, a mean over its targets
  double difference = 0;             // the largest, as a share of the CPU's loss
  std::int64_t graphs = 0;           // passes on the device that a graph repeated
  std::string without_graphs = {};   // why some that could be recorded were not
  double of_graphs = 0;              // the largest difference from a run without them
  double allowed = 0;
  std::string problem;  // why it could not be run

  bool passed() const {
    return problem.empty() && without_graphs.empty() && std::max(difference, of_graphs) <= allowed;
  }
};

// The share by which a loss may differ: rounding that grows over the steps.
double allowed_difference(Precision precision);

// Trains settings' model on random tokens. `done` is called with each scheme's result.
std::vector<SchemeEquality> compare_devices(const Settings& settings, const ComputePlan& plan,
                                            const DeviceEqualityOptions& options,
                                            const std::function<void(const SchemeEquality&)>& done);

// The number of dropout masks, in both precisions, whose bits differ between device and CPU.
struct MaskEquality {
  std::int64_t masks = 0;
  std::int64_t different = 0;
};
MaskEquality compare_dropout(const ComputePlan& plan);

}  // namespace roformer
