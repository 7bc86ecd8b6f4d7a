#include "tensor/memory_meter.h"

#include <c10/core/Allocator.h>
#include <c10/util/Flags.h>

#include <algorithm>
#include <atomic>

C10_DECLARE_int(caffe2_log_level);

namespace roformer {

class MemoryMeter::Counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t,
                         c10::Device) override {
    const std::int64_t now = used_ += bytes;
    std::int64_t peak = peak_;
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

 private:
  std::atomic<std::int64_t> used_ = 0, peak_ = 0;
};

// LibTorch logs a warning at the first block that was there before and is given back, which is no
// fault here.
class MemoryMeter::Silence {
 public:
  Silence() : before_(FLAGS_caffe2_log_level) { FLAGS_caffe2_log_level = 2; }  // errors only
  ~Silence() { FLAGS_caffe2_log_level = before_; }

 private:
  int before_;
};

MemoryMeter::MemoryMeter()
    : silence_(std::make_unique<Silence>()),
      counter_(std::make_shared<Counter>()),
      guard_(std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, counter_)) {}

MemoryMeter::~MemoryMeter() = default;

std::int64_t MemoryMeter::peak() const {
  return counter_->peak();
}

}  // namespace roformer
