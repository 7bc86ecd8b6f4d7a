#include "tensor/operation_profile.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <utility>

#include "base/error.h"
#include "tensor/kernel_profile.h"

namespace roformer {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// What LibTorch hands from the begin of an operation to its end.
struct Frame : at::ObserverContext {
  Frame* caller = nullptr;
  Clock::time_point start;
  double inside = 0;  // milliseconds of what it called
  std::string scope, name;
};

struct Totals {
  double milliseconds = 0;
  std::int64_t calls = 0;
};

// Of this thread's profile. There is one at a time.
struct Recording {
  Frame* current = nullptr;
  std::map<std::pair<std::string, std::string>, Totals> totals;  // by scope and name
};
thread_local std::unique_ptr<Recording> recording;

std::unique_ptr<at::ObserverContext> begin_operation(const at::RecordFunction& operation) {
  if (recording == nullptr) return nullptr;
  auto frame = std::make_unique<Frame>();
  frame->caller = recording->current;
  if (is_scope(operation.name())) {
    frame->scope = operation.name();
  } else {
    if (frame->caller != nullptr) frame->scope = frame->caller->scope;
    frame->name = operation.name();
  }
  recording->current = frame.get();
  frame->start = Clock::now();
  return frame;
}

void end_operation(const at::RecordFunction&, at::ObserverContext* context) {
  if (recording == nullptr || context == nullptr) return;
  const Frame& frame = *static_cast<Frame*>(context);
  const double elapsed = milliseconds_between(frame.start, Clock::now());
  Totals& totals = recording->totals[{frame.scope, frame.name}];
  totals.milliseconds += elapsed - frame.inside;
  ++totals.calls;
  recording->current = frame.caller;
  if (frame.caller != nullptr) frame.caller->inside += elapsed;
}

double processor_clock() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

class ProcessorProfile : public OperationProfile {
 public:
  ProcessorProfile() {
    ROFORMER_ASSERT(recording == nullptr);
    recording = std::make_unique<Recording>();
    callback_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(begin_operation, end_operation)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                     at::RecordScope::USER_SCOPE}));
    processor_start_ = processor_clock();
    start_ = Clock::now();
  }
  ~ProcessorProfile() override {
    stop();
    recording.reset();
  }

  void stop() final {
    if (callback_ == 0) return;
    wall_ = milliseconds_between(start_, Clock::now());
    processor_ = processor_clock() - processor_start_;
    at::removeCallback(std::exchange(callback_, 0));
  }

  std::vector<OperationTime> operations() const override {
    std::vector<OperationTime> result;
    for (const auto& [key, totals] : recording->totals) {
      result.push_back({.scope = key.first,
                        .name = key.second,
                        .milliseconds = totals.milliseconds,
                        .calls = totals.calls});
    }
    std::sort(result.begin(), result.end(), [](const OperationTime& a, const OperationTime& b) {
      return a.milliseconds > b.milliseconds;
    });
    return result;
  }

  double wall_milliseconds() const override { return wall_; }
  double idle_share(std::int64_t threads) const override {
    return std::max(0.0, 1 - processor_ / (wall_ * static_cast<double>(threads)));
  }

 private:
  std::uint64_t callback_ = 0;
  Clock::time_point start_;
  double processor_start_ = 0;
  double wall_ = 0, processor_ = 0;  // milliseconds; of all threads of the process
};

}  // namespace

bool is_scope(const std::string& name) {
  return name.find('/') != std::string::npos && name.find(':') == std::string::npos;
}

OperationScope::OperationScope(const char* name) {
  if (!at::hasCallbacks()) return;
  record_ = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  if (record_->isActive()) record_->before(name);
}

OperationScope::~OperationScope() = default;

std::unique_ptr<OperationProfile> start_profile(c10::Device device, const std::string& trace) {
  if (device.is_cuda()) return start_kernel_profile(trace);
  return std::make_unique<ProcessorProfile>();
}

}  // namespace roformer
