// libroformer_cuda.so, the only part of the program that needs the headers of CUDA and NCCL. It is
// built if they exist and opened at run time; its functions are found by name. It records graphs of
// a GPU's work and sums over several GPUs (training/distributed).
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace roformer::gpu {

struct Plugin {
  void* library = nullptr;  // of dlopen(), open until the process ends; null: there is none
  std::string reason;       // why there is none
};
// The plug-in is beside the program, in the build folder, or in the installation folder
// (CMakeLists.txt).
Plugin open_plugin();

// Raise it with every change of the plug-in's functions or of their types.
inline constexpr int kPluginVersion = 3;
inline constexpr const char* kPluginVersionName = "roformer_plugin_version";
using PluginVersion = int (*)();

// Recorded work of a GPU (a CUDA graph). Repeating it is one launch; otherwise the host would
// prepare every kernel of a pass again.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Records the work of `work` on this thread and in a backward pass that it starts, without
  // executing it. Throws if `work` throws or waits for the device; the graph is then unusable.
  virtual void record(const std::function<void()>& work) = 0;
  // Queues the recorded work after the device's other work, on the memory that the recording used.
  virtual void repeat() = 0;
};

// Makes empty graphs, which share their temporary memory.
using MakeDeviceGraph = std::function<std::unique_ptr<DeviceGraph>()>;

struct DeviceGraphs {
  MakeDeviceGraph make;  // empty: graphs are not available
  std::string reason;    // why not
};
// Makes the object for the GPU that this process has taken.
DeviceGraphs device_graphs();
// The name and type of the plug-in's function that makes such an object.
inline constexpr const char* kMakeDeviceGraphName = "roformer_make_device_graph";
using MakeDeviceGraphFunction = void (*)(std::unique_ptr<DeviceGraph>&);

}  // namespace roformer::gpu
