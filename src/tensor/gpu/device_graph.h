// Work that a GPU has recorded and does again when it is told to: one launch where the host would
// otherwise prepare every kernel of a pass anew (CUDA graphs).
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace roformer::gpu {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Records what `work` would do on this thread and in a backward pass that it starts; nothing of
  // it is done. Work that waits for the device cannot be recorded and throws, as does what it
  // throws itself; the graph is of no use then.
  virtual void record(const std::function<void()>& work) = 0;
  // Does it, behind the device's other work, on the memory that was used in recording.
  virtual void repeat() = 0;
};

// Makes empty graphs. Their temporary memory is one for all.
using MakeDeviceGraph = std::function<std::unique_ptr<DeviceGraph>()>;

struct DeviceGraphs {
  MakeDeviceGraph make;  // empty: they cannot be had,
  std::string reason;    // for this reason
};
// Of the GPU that this process has taken.
DeviceGraphs device_graphs();

}  // namespace roformer::gpu
