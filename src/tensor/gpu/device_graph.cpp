#include "tensor/gpu/device_graph.h"

#include <dlfcn.h>

#include "tensor/gpu/graph_plugin.h"
#include "tensor/gpu/plugin.h"

namespace roformer::gpu {

DeviceGraphs device_graphs() {
  const Plugin plugin = open_plugin();
  if (plugin.library == nullptr) return {.make = {}, .reason = plugin.reason};
  const auto make =
      reinterpret_cast<MakeDeviceGraphFunction>(dlsym(plugin.library, kMakeDeviceGraphName));
  return {.make = [make] {
    std::unique_ptr<DeviceGraph> graph;
    make(graph);
    return graph;
  }};
}

}  // namespace roformer::gpu
