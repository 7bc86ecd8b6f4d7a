// libroformer_cuda.so, the only part of the program that needs CUDA's headers (and NCCL's). It is
// built where they are, and opened at run time when something of it is needed. What it has is found
// by name.
#pragma once

#include <string>

namespace roformer::gpu {

struct Plugin {
  void* library = nullptr;  // as of dlopen(), for the process's lifetime; null: for this
  std::string reason;       // reason, in words
};
// Beside the program, where it is built, or where it is installed (CMakeLists.txt).
Plugin open_plugin();

// Changed with any function that the plug-in has or any type that they take.
inline constexpr int kPluginVersion = 3;
inline constexpr const char* kPluginVersionName = "roformer_plugin_version";
using PluginVersion = int (*)();

}  // namespace roformer::gpu
