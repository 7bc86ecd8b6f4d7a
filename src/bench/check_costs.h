// The cost of comparing the files that a command reads, a checkpoint's and a data set's, with their
// checksums. All files are in the system's cache, as if just written: reading from a disk costs
// more, checking costs the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

struct CheckCost {
  std::string what;
  double check_milliseconds = 0;  // medians
  double work_milliseconds = 0;   // the work around the check, without it

  double share() const { return check_milliseconds / work_milliseconds; }
};

// Writes a checkpoint and a data set of settings' size into `folder`. Three costs: opening weights,
// resuming with weights and moments, and the first read of a step's tokens compared with the step.
// `rounds` > 0.
std::vector<CheckCost> measure_check_costs(const Settings& settings, const ComputePlan& plan,
                                           const std::filesystem::path& folder,
                                           std::int64_t rounds);

}  // namespace roformer
