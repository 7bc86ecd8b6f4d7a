#include "tensor/gpu/graph_plugin.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tensor/gpu/plugin.h"

namespace {

// All graphs are recorded on one stream: what LibTorch keeps for a stream (cuBLAS's work space) is
// then made once, in the graphs' own memory. Through LibTorch's functions for any device: those of
// CUDA would have to be linked with CUDA's runtime library.
c10::Stream recording_stream(const c10::impl::VirtualGuardImpl& gpu) {
  static const c10::Stream stream = gpu.getStreamFromGlobalPool(gpu.getDevice());
  return stream;
}

// The memory of all graphs that there are. Where the last one has gone LibTorch takes the number of
// its memory no more.
std::shared_ptr<const at::cuda::MempoolId_t> pool_of_all() {
  static std::weak_ptr<const at::cuda::MempoolId_t> pool;
  auto current = pool.lock();
  if (current == nullptr) {
    pool = current = std::make_shared<const at::cuda::MempoolId_t>(at::cuda::graph_pool_handle());
  }
  return current;
}

class CudaGraph : public roformer::gpu::DeviceGraph {
 public:
  void record(const std::function<void()>& work) override {
    const c10::impl::VirtualGuardImpl gpu(c10::kCUDA);
    gpu.synchronizeDevice(gpu.getDevice().index());  // the stream must see all that came before
    const c10::StreamGuard guard(recording_stream(gpu));
    // Relaxed: other threads go on with their copies, and constants are uploaded meanwhile.
    graph_.capture_begin(*pool_, cudaStreamCaptureModeRelaxed);
    try {
      work();
    } catch (...) {
      try {
        graph_.capture_end();
      } catch (...) {  // it was broken by what was thrown
      }
      throw;
    }
    graph_.capture_end();
  }

  void repeat() override { graph_.replay(); }

 private:
  std::shared_ptr<const at::cuda::MempoolId_t> pool_ = pool_of_all();
  at::cuda::CUDAGraph graph_;
};

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int roformer_plugin_version() {
  return roformer::gpu::kPluginVersion;
}

[[gnu::visibility("default")]] void roformer_make_device_graph(
    std::unique_ptr<roformer::gpu::DeviceGraph>& graph) {
  graph = std::make_unique<CudaGraph>();
}

}  // extern "C"
