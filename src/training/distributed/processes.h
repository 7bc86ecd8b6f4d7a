// The processes of one training and their collective operations. Every process makes the same calls
// in the same order. Only gloo.cpp uses c10d; a single process makes the same calls without it.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/launch.h"

namespace roformer {

// An operation under way. The tensors of the call must not be touched before wait().
class PendingExchange {
 public:
  virtual ~PendingExchange() = default;
  virtual void wait() = 0;
};

// All tensors are contiguous, and on the CPU or, after use_gpu(), on the process's GPU; those of
// one call are on the same device. n: number of processes. Each call throws Error (failure) naming
// process and host when another process is gone or silent.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual std::int64_t rank() const = 0;   // in [0, n)
  virtual std::int64_t count() const = 0;  // n
  // The number of processes on this machine, and the rank of this one among them.
  virtual std::int64_t local_count() const = 0;
  virtual std::int64_t local_rank() const = 0;
  bool first() const { return rank() == 0; }
  bool alone() const { return count() == 1; }

  // values [N] become the sum over all processes, the same bits everywhere.
  virtual std::unique_ptr<PendingExchange> begin_sum(at::Tensor values) = 0;
  // received [n, N] from sent [n, N]: row r of `sent` goes to process r, row r of `received` comes
  // from it.
  virtual std::unique_ptr<PendingExchange> begin_exchange(at::Tensor received, at::Tensor sent) = 0;
  // all [n, N] from own [N]: row r is process r's.
  virtual std::unique_ptr<PendingExchange> begin_gather(at::Tensor all, at::Tensor own) = 0;
  // values [N] become those of process 0.
  virtual void take_from_first(at::Tensor values) = 0;

  // Call it if all processes compute on GPUs, this one on `card`, a unique name. Returns in words
  // how their tensors will travel.
  virtual std::string use_gpu(const std::string& card) = 0;

  // A sign of life from the training thread, for long work between two calls.
  virtual void alive() = 0;
  // While the result lives, the process counts as alive, for example while it writes a checkpoint.
  virtual std::shared_ptr<void> busy() = 0;
  // Whether a process was asked to stop: this one (`own`) or, as far as this one knows, another.
  // Costs nothing, since it travels with the heartbeats, and may be called at any time.
  virtual bool stops(bool own) = 0;
  // Tells the others, once, why this process leaves. `message` is one line.
  virtual void leave(const std::string& message) noexcept = 0;
};

// One process by itself.
std::unique_ptr<Processes> make_single_process();

struct ConnectOptions {
  // How long a process may be missing at the start, or silent later, before the others end.
  std::chrono::milliseconds timeout{60'000};
  // Names the training, so that another one at the same port is noticed; empty: unnamed.
  std::string job = {};
  // A folder where process 0 may leave a secret for the others (job_secret.h), unless
  // ROFORMER_JOB_SECRET gives them one; empty: nowhere.
  std::filesystem::path folder = {};
  // Connects a single process as one of several, for instance to try NCCL on one GPU.
  bool alone = false;
};

// Connects the processes that a launcher has started (gloo.cpp). They meet at a TCP store, the
// launcher's or process 0's, and communicate through c10d's Gloo backend. A thread of each process
// writes a heartbeat to the store, so that the others find and name a process that was killed, was
// stopped or hangs. Throws as rendezvous() does (rendezvous.h). A launch of one process needs no
// connection and gets none, unless options.alone asks for it.
std::unique_ptr<Processes> connect(const Launch& launch, const ConnectOptions& options = {});

// One row for each process: its numbers.
std::vector<std::vector<double>> gather_numbers(Processes& processes, std::span<const double> own);
// Sums over the processes, in their order: the same bits everywhere.
std::vector<double> sum_numbers(Processes& processes, std::span<const double> own);
// The text of each process.
std::vector<std::string> gather_texts(Processes& processes, const std::string& own);
// The text of process 0.
std::string text_of_first(Processes& processes, const std::string& own);
// Waits until all processes have made this call.
void barrier(Processes& processes);

}  // namespace roformer
