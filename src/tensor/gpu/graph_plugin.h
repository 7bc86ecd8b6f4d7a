// The graphs' part of the plug-in (plugin.h).
#pragma once

#include <memory>

#include "tensor/gpu/device_graph.h"

namespace roformer::gpu {

inline constexpr const char* kMakeDeviceGraphName = "roformer_make_device_graph";
using MakeDeviceGraphFunction = void (*)(std::unique_ptr<DeviceGraph>&);

}  // namespace roformer::gpu
