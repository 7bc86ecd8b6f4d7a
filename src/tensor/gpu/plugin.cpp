#include "tensor/gpu/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace roformer::gpu {

Plugin open_plugin() {
  constexpr const char* kLibrary = "libroformer_cuda.so";
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const problem = dlerror();
    return {.reason = fmt::format("{} cannot be opened ({}); it is built where scripts/bootstrap "
                                  "--cuda has put CUDA's headers",
                                  kLibrary, problem)};
  }
  const auto version = reinterpret_cast<PluginVersion>(dlsym(library, kPluginVersionName));
  if (version == nullptr || version() != kPluginVersion) {
    return {.reason = fmt::format("{} belongs to another build of this program", kLibrary)};
  }
  return {.library = library};
}

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
