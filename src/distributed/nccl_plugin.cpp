#include "distributed/nccl_plugin.h"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>

extern "C" {

[[gnu::visibility("default")]] int roformer_nccl_plugin_version() {
  return roformer::kNcclPluginVersion;
}

[[gnu::visibility("default")]] void roformer_make_nccl_group(
    const roformer::NcclGroupRequest& request, c10::intrusive_ptr<c10d::Backend>& group) {
  // Who is dead the pulse finds out and says; NCCL's watchdog would abort the process before that.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/0);
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = request.timeout;
  group = c10::make_intrusive<c10d::ProcessGroupNCCL>(request.store, request.rank, request.count,
                                                      options);
}

}  // extern "C"
