// Measures the cost of work: its time by operation (LibTorch's, "aten::mm", and ours,
// "attention/tiles") and its memory.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace at {
class RecordFunction;
}

namespace roformer {

// Names the work of this thread in profiles while it lives; costs nothing without a profile. Names
// are AREA/OPERATION, with the areas of bench/step_profile.
class OperationScope {
 public:
  explicit OperationScope(const char* name);
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;
  ~OperationScope();

 private:
  std::unique_ptr<at::RecordFunction> record_;
};

// Whether a name is one of ours: with an area and without a namespace.
bool is_scope(const std::string& name);

struct OperationTime {
  std::string scope;        // the innermost OperationScope that it ran in, or empty
  std::string name;         // of LibTorch's operation; empty: the scope's own work
  std::string kernel;       // on a GPU: the kernel, without its template's arguments
  double milliseconds = 0;  // without the operations that it called
  std::int64_t calls = 0;
};

// The work of a device for this thread from the profile's construction until stop(). There is one
// at a time.
class OperationProfile {
 public:
  OperationProfile() = default;
  OperationProfile(const OperationProfile&) = delete;
  OperationProfile& operator=(const OperationProfile&) = delete;
  virtual ~OperationProfile() = default;

  virtual void stop() = 0;

  // After stop(). The longest first.
  virtual std::vector<OperationTime> operations() const = 0;
  virtual double wall_milliseconds() const = 0;
  // The unused share of the device's time: of so many threads on a CPU, or of the GPU.
  virtual double idle_share(std::int64_t threads) const = 0;
};

// On a CPU: the operations of this thread, with its backward pass. On a GPU: the time of its
// kernels (from CUPTI, by LibTorch's profiler). `trace` then names a file for a timeline that
// chrome://tracing and Perfetto show.
std::unique_ptr<OperationProfile> start_profile(c10::Device device, const std::string& trace = "");

std::unique_ptr<OperationProfile> start_kernel_profile(const std::string& trace);

// Times in nanoseconds of one clock.
struct HostOperation {
  std::string name;
  std::uint64_t begin = 0, end = 0;
};
struct DeviceWork {
  std::string kernel;            // as C++ spells it, with its arguments
  std::uint64_t started_at = 0;  // by the host
  double milliseconds = 0;
};
// The device's time by kernel, and by the innermost operation and scope in which the host started
// it; the longest first. Assumes that one thread of the host works at a time.
std::vector<OperationTime> by_operation(std::vector<HostOperation> operations,
                                        std::vector<DeviceWork> work);

// "void at::native::fill<float>(int)" -> "fill".
std::string short_kernel_name(const std::string& name);

// The memory that LibTorch's allocators give this thread, on all devices, from construction to
// destruction. Memory from before that is freed counts as negative; other libraries' buffers are
// not seen. It slows allocations down: do not time inside.
class MemoryMeter {
 public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  // The most bytes in use at a time, minus those in use at the start.
  std::int64_t peak() const;

 private:
  class Counter;
  class Silence;
  std::unique_ptr<Silence> silence_;
  std::shared_ptr<Counter> counter_;
  std::unique_ptr<c10::DebugInfoGuard> guard_;
};

}  // namespace roformer
