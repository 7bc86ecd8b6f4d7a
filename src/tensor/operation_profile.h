// Where the time of a piece of work goes, operation by operation: LibTorch's operations by their
// names ("aten::mm") and this program's own by theirs ("attention/tiles").
#pragma once

#include <chrono>
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

struct OperationTime {
  std::string scope;        // the innermost scope of this program that it ran in, or empty
  std::string name;         // of LibTorch's operation, or empty: the scope's own work
  double milliseconds = 0;  // without those of the operations that it called
  std::int64_t calls = 0;
};

// Records this thread's operations from its making until stop(). The backward pass of a CPU runs
// on the thread that asked for it.
class OperationProfile {
 public:
  OperationProfile();
  OperationProfile(const OperationProfile&) = delete;
  OperationProfile& operator=(const OperationProfile&) = delete;
  ~OperationProfile();

  void stop();

  // After stop(). The longest first.
  std::vector<OperationTime> operations() const;
  double wall_milliseconds() const { return wall_; }
  double processor_milliseconds() const { return processor_; }  // of all threads of the process

 private:
  std::uint64_t callback_ = 0;
  std::chrono::steady_clock::time_point start_;
  double processor_start_ = 0;
  double wall_ = 0, processor_ = 0;
};

}  // namespace roformer
