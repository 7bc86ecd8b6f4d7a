#include "training/distributed/processes.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/util/Logging.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "tensor/gpu/plugin.h"
#include "training/distributed/heartbeat.h"
#include "training/distributed/job_secret.h"
#include "training/distributed/listening.h"
#include "training/distributed/nccl_plugin.h"
#include "training/distributed/rendezvous.h"

namespace roformer {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Group = c10d::ProcessGroupGloo;
using Store = c10::intrusive_ptr<c10d::Store>;

// Waits are cut into slices; the heartbeats of the others are checked between them.
constexpr Milliseconds kSlice{500};
// The time that the others need to read a reason or to find a silent process: a few slices and
// beats.
constexpr Milliseconds kTimeToRead{2000};
// The last safety net, far beyond what heartbeats find.
constexpr Milliseconds kGroupTimeout{std::chrono::hours(6)};

std::vector<std::uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// Where this process listens for the others: in the network of MASTER_ADDR, else in the network of
// another of their machines.
std::shared_ptr<::gloo::transport::Device> device_towards(const std::vector<std::string>& hosts,
                                                          const std::string& listens_at,
                                                          const std::string& master) {
  const auto other = std::ranges::find_if(
      hosts, [own = host_name()](const std::string& host) { return host != own; });
  if (other == hosts.end()) return Group::createDeviceForHostname("127.0.0.1");
  const auto own_address = [&] {
    return listens_at.empty() ? address_towards(master) : std::optional(listens_at);
  };
  for (const std::optional<std::string>& address : {own_address(), address_towards(*other)}) {
    if (address && !is_loopback(*address)) return Group::createDeviceForHostname(*address);
  }
  return Group::createDefaultDevice();
}

// Empty if the key is missing or was not written by this training.
std::string own_text(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return "";
  try {
    const std::vector<std::uint8_t> value = store.get(key);
    return {value.begin(), value.end()};
  } catch (const ForeignValue&) {
    return "";
  }
}

// The plug-in's function that makes groups, or the reason that there is none.
struct NcclPlugin {
  MakeNcclGroup make = nullptr;
  std::string reason;
};

NcclPlugin open_nccl_plugin() {
  const gpu::Plugin plugin = gpu::open_plugin();
  if (plugin.library == nullptr) return {.reason = plugin.reason};
  const auto find = [&](const char* name) { return dlsym(plugin.library, name); };
  const auto reason = reinterpret_cast<NcclPluginReason>(find(kNcclPluginReasonName));
  if (const std::string against = reason(); !against.empty()) return {.reason = against};
  return {.make = reinterpret_cast<MakeNcclGroup>(find(kMakeNcclGroupName))};
}

// Exits without destructors, which could clash with threads that still wait for a process that is
// gone.
void leave_at_exit(int status, void*) {
  std::fflush(nullptr);
  ::_exit(status);
}

// While it lives, this thread and those that it starts get an error instead of SIGPIPE when they
// write to a connection that the other end has closed.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~WithoutPipeSignal() {
    // Takes a pending signal, which would be delivered now.
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    const timespec at_once{};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t before_;
};

class GlooProcesses : public Processes {
 public:
  GlooProcesses(const Launch& launch, const ConnectOptions& options)
      : rank_(launch.rank), count_(launch.processes) {
    const Rendezvous met = rendezvous(launch, options);
    const std::vector<std::string>& hosts = met.hosts;
    store_ = met.store;
    local_count_ = std::ranges::count(hosts, host_name());
    local_rank_ = std::ranges::count(hosts.begin(), hosts.begin() + rank_, host_name());
    // A separate connection, so that no waiting call delays the heartbeat.
    const Store heartbeat_store = store_->clone();
    heartbeat_store->setTimeout(options.timeout);
    heartbeat_ = std::make_unique<Heartbeat>(
        HeartbeatStore{.set =
                           [heartbeat_store](const std::string& key, const std::string& value) {
                             heartbeat_store->set(key, bytes_of(value));
                           },
                       .get =
                           [heartbeat_store](const std::vector<std::string>& keys) {
                             std::vector<std::string> values;
                             for (const std::string& key : keys) {
                               values.push_back(own_text(*heartbeat_store, key));
                             }
                             return values;
                           }},
        HeartbeatOptions{.rank = rank_,
                         .count = count_,
                         .hosts = hosts,
                         .store_rank = launch.launcher_keeps_store ? -1 : 0,
                         .timeout = options.timeout,
                         .beat = std::min(Milliseconds(500), options.timeout / 8)});
    make_group(met, launch.master_address, options.timeout);
  }

  ~GlooProcesses() override {
    if (failed_) {
      // Its threads still wait for a process that is gone.
      [[maybe_unused]] auto* const left = group_.release();
      [[maybe_unused]] auto* const also_left = on_gpus_.release();
      ::on_exit(leave_at_exit, nullptr);
      return;
    }
    heartbeat_.reset();
    on_gpus_.reset();
    try {
      store_->set(fmt::format("end/{}", rank_), bytes_of("1"));
      // The store lives in the first process, which stays until the others no longer need it.
      constexpr int kTries = 250;
      for (std::int64_t r = 0, tries = 0; rank_ == 0 && r < count_ && tries < kTries;) {
        if (store_->check({fmt::format("end/{}", r)})) {
          ++r;
        } else {
          ++tries;
          std::this_thread::sleep_for(Milliseconds(20));
        }
      }
    } catch (const std::exception&) {  // nothing is left to do
    }
  }

  std::int64_t rank() const override { return rank_; }
  std::int64_t count() const override { return count_; }
  std::int64_t local_count() const override { return local_count_; }
  std::int64_t local_rank() const override { return local_rank_; }

  std::unique_ptr<PendingExchange> begin_sum(at::Tensor values) override {
    c10d::Backend& group = group_of(values);
    std::vector<at::Tensor> tensors{std::move(values)};
    return begun([&] { return group.allreduce(tensors); });
  }
  std::unique_ptr<PendingExchange> begin_exchange(at::Tensor received, at::Tensor sent) override {
    std::vector<std::int64_t> evenly;
    c10d::Backend& group = group_of(sent);
    return begun([&] { return group.alltoall_base(received, sent, evenly, evenly); });
  }
  std::unique_ptr<PendingExchange> begin_gather(at::Tensor all, at::Tensor own) override {
    // Flat, because c10d compares the shapes of what is sent and received.
    at::Tensor flat = all.view({-1}), sent = own.view({-1});
    c10d::Backend& group = group_of(own);
    return begun([&] { return group._allgather_base(flat, sent); });
  }
  void take_from_first(at::Tensor values) override {
    c10d::Backend& group = group_of(values);
    std::vector<at::Tensor> tensors{std::move(values)};
    begun([&] { return group.broadcast(tensors); })->wait();
  }

  std::string use_gpu(const std::string& card) override {
    const NcclPlugin plugin = open_nccl_plugin();
    // A launcher may show each process a different single GPU.
    const std::string place = host_name() + " " + card;
    const auto sharing = std::ranges::count(gather_texts(*this, place), place);
    const std::string own =
        sharing > 1 ? fmt::format("{} processes share a GPU", sharing) : plugin.reason;
    // All use NCCL, or none.
    for (const std::string& reason : gather_texts(*this, own)) {
      if (!reason.empty()) return "through Gloo and the host's memory: " + reason;
    }
    try {
      plugin.make({.store = c10::make_intrusive<c10d::PrefixStore>("nccl", store_),
                   .rank = static_cast<int>(rank_),
                   .count = static_cast<int>(count_),
                   .timeout = kGroupTimeout},
                  on_gpus_);
    } catch (const std::exception& error) {
      fail(error);
    }
    return "through NCCL";
  }

  void alive() override { heartbeat_->alive(); }
  std::shared_ptr<void> busy() override { return heartbeat_->busy(); }
  bool stops(bool own) override { return heartbeat_->stops(own); }
  void leave(const std::string& message) noexcept override {
    if (std::exchange(left_, true)) return;
    // After a failure the others find the silent process themselves.
    if (!std::exchange(failed_, true)) heartbeat_->leave(message);
    // The store ends with the first process: gives the others time to read it.
    if (rank_ == 0) std::this_thread::sleep_for(kTimeToRead);
  }

 private:
  class Pending : public PendingExchange {
   public:
    Pending(GlooProcesses& owner, c10::intrusive_ptr<c10d::Work> work)
        : owner_(owner), work_(std::move(work)) {}
    void wait() override { owner_.wait_for(*work_); }

   private:
    GlooProcesses& owner_;
    c10::intrusive_ptr<c10d::Work> work_;
  };

  std::int64_t rank_;
  std::int64_t count_;
  std::int64_t local_count_ = 1;
  std::int64_t local_rank_ = 0;
  Store store_;
  std::unique_ptr<Heartbeat> heartbeat_;
  c10::intrusive_ptr<Group> group_;
  c10::intrusive_ptr<c10d::Backend> on_gpus_;  // NCCL, where use_gpu() has found it
  bool failed_ = false;
  bool left_ = false;

  // Gloo takes tensors of GPUs by way of the host's memory.
  c10d::Backend& group_of(const at::Tensor& values) {
    if (on_gpus_ && !values.is_cpu()) return *on_gpus_;
    return *group_;
  }

  template <typename Begin>
  std::unique_ptr<PendingExchange> begun(const Begin& begin) {
    heartbeat_->alive();
    try {
      return std::make_unique<Pending>(*this, begin());
    } catch (const std::exception& error) {
      fail(error);
    }
  }

  void wait_for(c10d::Work& work) {
    const std::shared_ptr<void> busy = heartbeat_->busy();
    while (!done_within_slice(work)) {
      if (const std::optional<std::string> verdict = heartbeat_->verdict()) give_up(*verdict);
    }
  }

  bool done_within_slice(c10d::Work& work) {
    try {
      // NCCL makes the GPU wait, not the caller, which would then miss that a process is gone.
      if (on_gpus_ && !completed_within(work, kSlice)) return false;
      work.wait(kSlice);
    } catch (const std::exception& error) {
      if (!work.isCompleted()) return false;
      if (work.exception() != nullptr) fail(error);  // NCCL's isSuccess() does not tell
      work.synchronize();
    }
    return true;
  }

  static bool completed_within(c10d::Work& work, Milliseconds time) {
    constexpr std::chrono::microseconds kLook{20};
    const auto end = std::chrono::steady_clock::now() + time;
    while (!work.isCompleted()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(kLook);
    }
    return true;
  }

  // Gloo tries for a long time to reach a process that was killed meanwhile. So it connects on
  // another thread, while this one checks the heartbeats.
  void make_group(const Rendezvous& met, const std::string& master, Milliseconds timeout) {
    std::promise<c10::intrusive_ptr<Group>> promise;
    std::future<c10::intrusive_ptr<Group>> made = promise.get_future();
    std::thread([promise = std::move(promise), met, master, timeout, store = store_,
                 rank = static_cast<int>(rank_), count = static_cast<int>(count_)]() mutable {
      try {
        const auto options = Group::Options::create(timeout);
        options->devices.push_back(device_towards(met.hosts, met.listens_at, master));
        promise.set_value(c10::make_intrusive<Group>(store, rank, count, options));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }).detach();
    const std::shared_ptr<void> busy = heartbeat_->busy();
    while (made.wait_for(kSlice) != std::future_status::ready) {
      const std::optional<std::string> verdict = heartbeat_->verdict();
      if (!verdict) continue;
      ::on_exit(leave_at_exit, nullptr);  // that thread keeps trying
      give_up(*verdict);
    }
    try {
      group_ = made.get();
      static_cast<c10d::Backend&>(*group_).setTimeout(kGroupTimeout);
    } catch (const std::exception& error) {
      fail(error);
    }
  }

  [[noreturn]] void fail(const std::exception& error) {
    give_up(heartbeat_->explain(first_line(error)));
  }

  [[noreturn]] void give_up(const std::string& reason) {
    failed_ = true;
    throw_failure(fmt::format("process {} of {}", rank_, count_), reason,
                  "--resume continues from the last complete checkpoint, if there is one");
  }
};

}  // namespace

std::unique_ptr<Processes> connect(const Launch& launch, const ConnectOptions& options) {
  if (launch.alone() && !options.alone) return make_single_process();
  // Our own line replaces its warnings. Set once, since tests have a thread for each process.
  [[maybe_unused]] static const int level = FLAGS_caffe2_log_level = c10::GLOG_ERROR;
  const WithoutPipeSignal quiet;
  auto processes = std::make_unique<GlooProcesses>(launch, options);
  barrier(*processes);  // all connections are there
  close_to_newcomers();
  return processes;
}

}  // namespace roformer
