// What it costs to compare with their checksums the files that a command reads: a checkpoint's and
// a data set's. All of them are in the system's cache, as when they were just written: from a disk
// reading costs more, and checking as much.
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
  double work_milliseconds = 0;   // what the check is a part of, without it

  double share() const { return check_milliseconds / work_milliseconds; }
};

// Writes a checkpoint and a data set of settings' size into `folder`. Three costs: of the weights
// as they are opened, of weights and moments as a training goes on, and of a step's tokens as they
// are read for the first time, beside the step. `rounds` > 0.
std::vector<CheckCost> measure_check_costs(const Settings& settings, const ComputePlan& plan,
                                           const std::filesystem::path& folder,
                                           std::int64_t rounds);

}  // namespace roformer
