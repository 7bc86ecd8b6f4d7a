#include "training/distributed/nccl_plugin.h"

#include <torch/csrc/distributed/c10d/NCCLUtils.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>

extern "C" {

// The size of the options that are passed to LibTorch depends on the header included here.
[[gnu::visibility("default")]] std::string roformer_nccl_plugin_reason() {
  constexpr int kMinor = 100;  // 2.28.9 is 22809
  if (c10d::getNcclVersionNumber() / kMinor == NCCL_VERSION_CODE / kMinor) return "";
  return "libroformer_cuda.so was built for NCCL " + std::to_string(NCCL_MAJOR) + "." +
         std::to_string(NCCL_MINOR) + ", and LibTorch has " + c10d::getNcclVersion();
}

[[gnu::visibility("default")]] void roformer_make_nccl_group(
    const roformer::NcclGroupRequest& request, c10::intrusive_ptr<c10d::Backend>& group) {
  // Heartbeats find and report a dead process; NCCL's watchdog would abort this one before that.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/0);
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = request.timeout;
  group = c10::make_intrusive<c10d::ProcessGroupNCCL>(request.store, request.rank, request.count,
                                                      options);
}

}  // extern "C"
