// Where the time of a piece of work goes, operation by operation: LibTorch's operations by their
// names ("aten::mm") and this program's own by theirs ("attention/tiles").
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

// Names what runs on this thread while it lives, where a profile is being made; costs nothing
// otherwise. Names are AREA/OPERATION; the areas are those of `bench/step_profile`.
class OperationScope {
 public:
  explicit OperationScope(const char* name);
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;
  ~OperationScope();

 private:
  std::unique_ptr<at::RecordFunction> record_;
};

// Our names have an area and no namespace: "attention/tiles", in the backward pass too.
bool is_scope(const std::string& name);

struct OperationTime {
  std::string scope;        // the innermost scope of this program that it ran in, or empty
  std::string name;         // of LibTorch's operation, or empty: the scope's own work
  std::string kernel;       // on a GPU: what ran there, without its template's arguments
  double milliseconds = 0;  // without those of the operations that it called
  std::int64_t calls = 0;
};

// What a device does for this thread, from the making of the profile until stop(). There is one at
// a time.
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
  // Of the time that the device offered: of so many threads on a CPU, of the card's on a GPU.
  virtual double idle_share(std::int64_t threads) const = 0;
};

// On a CPU the operations that this thread runs, its backward pass among them. On a GPU what its
// kernels take there (CUPTI, as LibTorch's own profiler hands it on), and in the file `trace`,
// where one is named, what ran when, as chrome://tracing and Perfetto show it.
std::unique_ptr<OperationProfile> start_profile(c10::Device device, const std::string& trace = "");

// The profile of a GPU's time (operation_profile.h).

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
// What each kind of work on a device took, by the innermost operation and scope in which the host
// started it; the longest first. Of the host's threads one works at a time, the others wait for it.
std::vector<OperationTime> by_operation(std::vector<HostOperation> operations,
                                        std::vector<DeviceWork> work);

// "void at::native::fill<float>(int)" -> "fill".
std::string short_kernel_name(const std::string& name);

// The memory that tensors take while something runs: what LibTorch's allocators hand out to this
// thread and get back, on every device. Freed memory that was there before counts as given back;
// what libraries take beside LibTorch (buffers of matrix products) is not seen.

// Measures from construction to destruction. Allocations become a little slower: no timing inside.
class MemoryMeter {
 public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  // Bytes: the most that was in use at once beyond what was in use at the start.
  std::int64_t peak() const;

 private:
  class Counter;
  class Silence;
  std::unique_ptr<Silence> silence_;
  std::shared_ptr<Counter> counter_;
  std::unique_ptr<c10::DebugInfoGuard> guard_;
};

}  // namespace roformer
