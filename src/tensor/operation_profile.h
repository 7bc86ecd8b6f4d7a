// Where the time of a piece of work goes, operation by operation: LibTorch's operations by their
// names ("aten::mm") and this program's own by theirs ("attention/tiles").
#pragma once

#include <c10/core/Device.h>

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

}  // namespace roformer
