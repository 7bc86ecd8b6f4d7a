// NCCL's part of the plug-in (tensor/gpu/plugin.h), used when several processes compute on GPUs.
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

// The names of its two functions.
inline constexpr const char* kNcclPluginReasonName = "roformer_nccl_plugin_reason";
inline constexpr const char* kMakeNcclGroupName = "roformer_make_nccl_group";
using NcclPluginReason = std::string (*)();  // why it does not fit LibTorch; empty: it does
using MakeNcclGroup = void (*)(const NcclGroupRequest&, c10::intrusive_ptr<c10d::Backend>&);

}  // namespace roformer
