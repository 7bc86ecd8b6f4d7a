// The memory that tensors take while something runs: what LibTorch's allocators hand out to this
// thread and get back, on every device. Freed memory that was there before counts as given back;
// what libraries take beside LibTorch (buffers of matrix products) is not seen.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace roformer {

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
