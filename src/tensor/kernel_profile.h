// The profile of a GPU's time (operation_profile.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/operation_profile.h"

namespace roformer {

std::unique_ptr<OperationProfile> start_kernel_profile(const std::string& trace);

// Times in nanoseconds of one clock.
struct HostOperation {
  std::string name;
  std::uint64_t begin = 0, end = 0;
};
struct DeviceWork {
  std::string kernel;            // as C++ spells it, with its arguments
  std::uint64_t started_at = 0;  // by the host
  double milliseconds = 0;
};
// What each kind of work on a device took, by the innermost operation and scope in which the host
// started it; the longest first. Of the host's threads one works at a time, the others wait for it.
std::vector<OperationTime> by_operation(std::vector<HostOperation> operations,
                                        std::vector<DeviceWork> work);

// "void at::native::fill<float>(int)" -> "fill".
std::string short_kernel_name(const std::string& name);

}  // namespace roformer
