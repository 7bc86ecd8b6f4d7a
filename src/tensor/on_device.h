// What the host has made, where the model computes. The host never waits for the copy: on a GPU it
// goes from pinned memory, in the order of the GPU's other work. While a graph is recorded, it is a
// constant of that (graph_recording.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// `host` itself on the CPU, else its copy. A tensor that is on the device already stays as it is.
at::Tensor on_device(const at::Tensor& host, at::Device device);
// The same with another type, which the host gives it.
at::Tensor on_device(const at::Tensor& host, const at::TensorOptions& options);

// `host` in memory from which on_device() copies at once, where `device` is a GPU; else itself. May
// be called on any thread: who makes batches ahead pins them there.
at::Tensor pinned_for(const at::Tensor& host, at::Device device);

}  // namespace roformer
