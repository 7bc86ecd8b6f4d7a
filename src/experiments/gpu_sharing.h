// Lets several trainings compute on one GPU at the same time. Without NVIDIA's Multi-Process
// Service (MPS) the GPU works for one process at a time, and small models leave most of it idle.
#pragma once

#include <memory>

namespace roformer {

class GpuSharing {
 public:
  // Starts MPS for the processes that this process starts from now on. Does nothing, with a
  // warning, if it does not start. Returns null, without a message, if the user runs MPS or it is
  // not installed. Files of MPS go into a temporary folder, which the destructor removes.
  static std::unique_ptr<GpuSharing> start();

  // Ends MPS. Call it after the processes that use it have ended.
  virtual ~GpuSharing() = default;

 protected:
  GpuSharing() = default;
};

}  // namespace roformer
