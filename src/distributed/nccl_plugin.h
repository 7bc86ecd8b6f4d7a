// What the program and its plug-in libroformer_cuda.so know of each other. The plug-in
// (nccl_plugin.cpp) is the only part that needs CUDA's and NCCL's headers; it is built where they
// are, and opened when several processes compute on GPUs.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <string>

namespace roformer {

struct NcclGroupRequest {
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;
  int count = 1;
  std::chrono::milliseconds timeout{};
};

// Changed with anything in this file.
inline constexpr int kNcclPluginVersion = 2;

// The names under which the plug-in's three functions are found.
inline constexpr const char* kNcclPluginVersionName = "roformer_nccl_plugin_version";
inline constexpr const char* kNcclPluginReasonName = "roformer_nccl_plugin_reason";
inline constexpr const char* kMakeNcclGroupName = "roformer_make_nccl_group";
using NcclPluginVersion = int (*)();
using NcclPluginReason = std::string (*)();  // why it does not fit LibTorch; empty: it does
using MakeNcclGroup = void (*)(const NcclGroupRequest&, c10::intrusive_ptr<c10d::Backend>&);

}  // namespace roformer
