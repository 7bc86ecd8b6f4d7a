#include "tensor/on_device.h"

#include <c10/core/DeviceGuard.h>

#include "tensor/graph_recording.h"

namespace roformer {

at::Tensor pinned_for(const at::Tensor& host, at::Device device) {
  if (!device.is_cuda() || !host.is_cpu()) return host;
  const c10::DeviceGuard guard(device);  // pinning would wake up the first GPU otherwise
  return host.pin_memory();
}

at::Tensor on_device(const at::Tensor& host, at::Device device) {
  if (host.device() == device) return host;
  if (GraphRecording* const recording = GraphRecording::current()) return recording->constant(host);
  // LibTorch keeps pinned memory until the copy has been made.
  return pinned_for(host, device).to(device, /*non_blocking=*/true);
}

at::Tensor on_device(const at::Tensor& host, const at::TensorOptions& options) {
  return on_device(host.to(options.dtype()), options.device());
}

}  // namespace roformer
