// Checks that the processes of one training agree before it begins.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "config/settings.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"

namespace roformer {

// Throws Error (usage) for settings that do not allow this number of processes or these devices.
void check_processes(const Settings& settings, const ComputePlan& plan, const Processes& processes);

// Throws Error (usage) if the processes differ in program, configuration or data.
void compare_processes(const Settings& settings, const nlohmann::json& data,
                       const ComputePlan& plan, Processes& processes);

// The number of threads of each process. The processes of one machine share its cores.
std::int64_t threads_of_each(const Settings& settings, const Processes& processes);

}  // namespace roformer
