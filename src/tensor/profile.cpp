#include "tensor/profile.h"

#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Flags.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// The data of an operation, which LibTorch passes from its begin to its end.
struct Frame : at::ObserverContext {
  Frame* caller = nullptr;
  Clock::time_point start;
  double inside = 0;  // milliseconds of the operations that it called
  std::string scope, name;
};

struct Totals {
  double milliseconds = 0;
  std::int64_t calls = 0;
};

// The data of this thread's profile.
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
    std::ranges::sort(result, [](const OperationTime& a, const OperationTime& b) {
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

namespace {

namespace profiler = torch::autograd::profiler;
using Clock = std::chrono::steady_clock;
using libkineto::ActivityType;

void wait_for_gpu() {
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  guard.synchronizeDevice(guard.getDevice().index());
}

class KernelProfile : public OperationProfile {
 public:
  explicit KernelProfile(std::string trace) : trace_(std::move(trace)) {
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    const std::set activities{profiler::ActivityType::CPU, profiler::ActivityType::CUDA};
    wait_for_gpu();
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities,
                             {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                              at::RecordScope::USER_SCOPE});
    start_ = Clock::now();
  }
  ~KernelProfile() override {
    try {
      stop();
    } catch (const std::exception&) {  // the GPU has failed, which another exception reports
    }
  }

  void stop() final {
    if (std::exchange(stopped_, true)) return;
    wait_for_gpu();
    wall_ = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
    const std::unique_ptr<profiler::ProfilerResult> result = profiler::disableProfiler();
    if (!trace_.empty()) result->save(trace_);
    std::vector<HostOperation> operations;
    std::vector<DeviceWork> work;
    std::vector<std::uint64_t> launches;                       // of `work`: its correlation
    std::unordered_map<std::uint64_t, std::uint64_t> started;  // by correlation
    for (const profiler::KinetoEvent& event : result->events()) {
      switch (static_cast<ActivityType>(event.activityType())) {
        case ActivityType::CPU_OP:
        case ActivityType::USER_ANNOTATION:
          operations.push_back(
              {.name = event.name(), .begin = event.startNs(), .end = event.endNs()});
          break;
        case ActivityType::CUDA_RUNTIME:
        case ActivityType::CUDA_DRIVER:
          started.emplace(event.correlationId(), event.startNs());
          break;
        case ActivityType::CONCURRENT_KERNEL:
        case ActivityType::GPU_MEMCPY:
        case ActivityType::GPU_MEMSET:
          work.push_back({.kernel = event.name(),
                          .milliseconds = static_cast<double>(event.durationNs()) * 1e-6});
          launches.push_back(event.correlationId());
          busy_ += work.back().milliseconds;
          break;
        default:
          break;
      }
    }
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (const auto launch = started.find(launches[i]); launch != started.end()) {
        work[i].started_at = launch->second;
      }
    }
    operations_ = by_operation(std::move(operations), std::move(work));
  }

  std::vector<OperationTime> operations() const override {
    if (operations_.empty()) {
      throw_failure("--profile", "CUPTI, which counts the kernels' time, has told of none",
                    "another profiler may hold it");
    }
    return operations_;
  }
  double wall_milliseconds() const override { return wall_; }
  double idle_share(std::int64_t) const override { return std::max(0.0, 1 - busy_ / wall_); }

 private:
  std::string trace_;
  Clock::time_point start_;
  bool stopped_ = false;
  double wall_ = 0, busy_ = 0;  // milliseconds
  std::vector<OperationTime> operations_;
};

}  // namespace

std::unique_ptr<OperationProfile> start_kernel_profile(const std::string& trace) {
  return std::make_unique<KernelProfile>(trace);
}

std::string short_kernel_name(const std::string& name) {
  std::string_view rest = name;
  if (rest.starts_with("void ")) rest.remove_prefix(5);
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  std::string found;
  int depth = 0;  // of template arguments
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest.substr(i).starts_with(kUnnamed)) {
      i += kUnnamed.size() - 1;
      continue;
    }
    const char c = rest[i];
    if (c == '<') ++depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0) found += c;
    if (c == '>') --depth;
  }
  if (const std::size_t colon = found.rfind("::"); colon != std::string::npos) {
    found.erase(0, colon + 2);
  }
  return found.substr(0, found.find_last_not_of(' ') + 1);
}

std::vector<OperationTime> by_operation(std::vector<HostOperation> operations,
                                        std::vector<DeviceWork> work) {
  std::ranges::sort(
      operations, [](const HostOperation& a, const HostOperation& b) { return a.begin < b.begin; });
  std::ranges::sort(
      work, [](const DeviceWork& a, const DeviceWork& b) { return a.started_at < b.started_at; });
  std::map<std::tuple<std::string, std::string, std::string>, OperationTime> totals;
  std::vector<const HostOperation*> open;  // the innermost last
  std::size_t next = 0;
  for (const DeviceWork& each : work) {
    while (next < operations.size() && operations[next].begin <= each.started_at) {
      open.push_back(&operations[next++]);
    }
    std::erase_if(open, [&](const HostOperation* one) { return one->end < each.started_at; });
    OperationTime time{.kernel = short_kernel_name(each.kernel)};
    for (auto one = open.rbegin(); one != open.rend() && time.scope.empty(); ++one) {
      if (is_scope((*one)->name)) {
        time.scope = (*one)->name;
      } else if (time.name.empty()) {
        time.name = (*one)->name;
      }
    }
    OperationTime& total =
        totals.try_emplace({time.scope, time.name, time.kernel}, time).first->second;
    total.milliseconds += each.milliseconds;
    ++total.calls;
  }
  std::vector<OperationTime> result;
  for (auto& [key, total] : totals) result.push_back(std::move(total));
  std::ranges::stable_sort(result, [](const OperationTime& a, const OperationTime& b) {
    return a.milliseconds > b.milliseconds;
  });
  return result;
}

}  // namespace roformer

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

// LibTorch warns when a block from before the measurement is freed, which is no fault here.
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
