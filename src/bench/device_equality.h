// Whether a device trains as the CPU does: the same model on the same batches by the program's own
// loops on the CPU and by the operations of the device, step by step, under every scheme. Where the
// device is the CPU, it takes the operations that a GPU takes (ComposedForms).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

struct DeviceEqualityOptions {
  std::vector<std::string> schemes;
  std::int64_t steps = 100;
};

struct SchemeEquality {
  std::string scheme;
  bool causal = false;
  std::vector<double> host, device;  // the loss of each step, a mean over its targets
  double difference = 0;             // the largest, as a share of the CPU's loss
  std::int64_t graphs = 0;           // of the device's passes, those that a graph repeated
  std::string without_graphs = {};   // why some that could be recorded were not
  double of_graphs = 0;              // the largest difference from a run without them
  double allowed = 0;
  std::string problem;  // why it could not be run

  bool passed() const {
    return problem.empty() && without_graphs.empty() && std::max(difference, of_graphs) <= allowed;
  }
};

// The share that a loss may differ by: rounding that grows over the steps.
double allowed_difference(Precision precision);

// Of settings' model on random tokens. `done` is called with each scheme's result.
std::vector<SchemeEquality> compare_devices(const Settings& settings, const ComputePlan& plan,
                                            const DeviceEqualityOptions& options,
                                            const std::function<void(const SchemeEquality&)>& done);

// How many of some dropout masks, in both precisions, have other bits on the device than on the
// CPU.
struct MaskEquality {
  std::int64_t masks = 0;
  std::int64_t different = 0;
};
MaskEquality compare_dropout(const ComputePlan& plan);

}  // namespace roformer
