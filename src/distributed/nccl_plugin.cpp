#include "distributed/nccl_plugin.h"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

extern "C" {

[[gnu::visibility("default")]] int roformer_nccl_plugin_version() {
  return roformer::kNcclPluginVersion;
}

[[gnu::visibility("default")]] void roformer_make_nccl_group(
    const roformer::NcclGroupRequest& request, c10::intrusive_ptr<c10d::Backend>& group) {
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = request.timeout;
  group = c10::make_intrusive<c10d::ProcessGroupNCCL>(request.store, request.rank, request.count,
                                                      options);
}

}  // extern "C"
