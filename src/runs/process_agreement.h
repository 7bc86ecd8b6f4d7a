// Checks that the processes of one training agree before it begins.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "config/settings.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"

namespace roformer {

// Throws Error (usage) for settings that this number of processes, or their devices, cannot have.
void check_processes(const Settings& settings, const ComputePlan& plan, const Processes& processes);

// Throws Error (usage) where another process has another program, configuration or other data.
void compare_processes(const Settings& settings, const nlohmann::json& data,
                       const ComputePlan& plan, Processes& processes);

// Threads of each process: all cores are shared by those of a machine.
std::int64_t threads_of_each(const Settings& settings, const Processes& processes);

}  // namespace roformer
