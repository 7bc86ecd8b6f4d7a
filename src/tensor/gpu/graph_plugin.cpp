#include "tensor/gpu/plugin.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <exception>

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
    try {
      // Relaxed: other threads go on with their copies, and constants are uploaded meanwhile.
      graph_.capture_begin(*pool_, cudaStreamCaptureModeRelaxed);
      work();
      graph_.capture_end();
    } catch (...) {
      leave(gpu.getDevice().index());
      throw;
    }
  }

  void repeat() override { graph_.replay(); }

 private:
  // LibTorch ends a capture that was broken with an exception, before its allocators are told: they
  // would go on taking memory for a graph, and give none back.
  void leave(c10::DeviceIndex device) {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    if (succeeds([&] { graph_.capture_end(); }) || succeeds([&] { graph_.pool(); })) return;
    at::HostAllocator* const host = at::getHostAllocator(at::kCUDA);
    succeeds([&] { allocator::endAllocateToPool(device, *pool_); });
    succeeds([&] { host->end_allocate_to_pool(*pool_); });
    succeeds([&] { allocator::releasePool(device, *pool_); });
    succeeds([&] { host->release_pool(*pool_); });
  }

  template <class Step>
  static bool succeeds(const Step& step) {
    try {
      step();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

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
