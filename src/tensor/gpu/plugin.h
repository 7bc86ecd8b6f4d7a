// libroformer_cuda.so, the only part of the program that needs the headers of CUDA and NCCL: built
// where these are, opened at run time, its functions found by name. It records graphs of a GPU's work
// and sums over several GPUs (training/distributed).
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace roformer::gpu {

struct Plugin {
  void* library = nullptr;  // of dlopen(), open until the process ends; null: there is none
  std::string reason;       // why there is none
};
// Beside the program, where it is built, or where it is installed (CMakeLists.txt).
Plugin open_plugin();

// To be raised with every change of the plug-in's functions or of their types.
inline constexpr int kPluginVersion = 3;
inline constexpr const char* kPluginVersionName = "roformer_plugin_version";
using PluginVersion = int (*)();

// Work that a GPU has recorded (a CUDA graph). Repeating it is one launch, where the host would
// otherwise prepare every kernel of a pass again.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Records what `work` would do on this thread and in a backward pass that it starts, without doing
  // it. Throws if the work throws or waits for the device; the graph is then of no use.
  virtual void record(const std::function<void()>& work) = 0;
  // Queues the work after the device's other work, on the memory that was used in recording.
  virtual void repeat() = 0;
};

// Makes empty graphs, which share their temporary memory.
using MakeDeviceGraph = std::function<std::unique_ptr<DeviceGraph>()>;

struct DeviceGraphs {
  MakeDeviceGraph make;  // empty: graphs are not available
  std::string reason;    // why not
};
// For the GPU that this process has taken.
DeviceGraphs device_graphs();
// The name and type of the plug-in's function that makes one.
inline constexpr const char* kMakeDeviceGraphName = "roformer_make_device_graph";
using MakeDeviceGraphFunction = void (*)(std::unique_ptr<DeviceGraph>&);

}  // namespace roformer::gpu
