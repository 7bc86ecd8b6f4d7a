// The processes of one training, and the few things that they say to each other. Every process
// makes the same calls in the same order. What is behind it, c10d over Gloo, is in gloo.cpp alone;
// one process by itself needs nothing of it and goes through the same calls.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace roformer {

// What is under way. The tensors of the call must not be touched before wait().
class PendingExchange {
 public:
  virtual ~PendingExchange() = default;
  virtual void wait() = 0;
};

// All tensors are contiguous and on the CPU; after use_gpu() begin_sum() and take_from_first() take
// those of the process's GPU, too. n processes.
// Each call throws Error (failure) naming process and host when another one is gone or silent.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual std::int64_t rank() const = 0;   // in [0, n)
  virtual std::int64_t count() const = 0;  // n
  // Of them on this machine, and the number of this one among those.
  virtual std::int64_t local_count() const = 0;
  virtual std::int64_t local_rank() const = 0;
  bool first() const { return rank() == 0; }
  bool alone() const { return count() == 1; }

  // values [N] become the sum over all processes, the same bits everywhere.
  virtual std::unique_ptr<PendingExchange> begin_sum(at::Tensor values) = 0;
  // received [n, N] from sent [n, N]: row r of what is sent goes to process r, row r of what is
  // received comes from it.
  virtual std::unique_ptr<PendingExchange> begin_exchange(at::Tensor received, at::Tensor sent) = 0;
  // all [n, N] from own [N]: row r is process r's.
  virtual std::unique_ptr<PendingExchange> begin_gather(at::Tensor all, at::Tensor own) = 0;
  // values [N] become those of process 0.
  virtual void take_from_first(at::Tensor values) = 0;

  // All processes compute on GPUs, this one on `card`, a name that no other card has. Returns the
  // way of their tensors in words, for a person.
  virtual std::string use_gpu(const std::string& card) = 0;

  // A sign of life from the thread that trains, for long work between two calls.
  virtual void alive() = 0;
  // While it lives, the process counts as alive however long it takes: writing a checkpoint.
  virtual std::shared_ptr<void> busy() = 0;
  // Whether one of the processes was asked to stop, this one (`own`) or, as far as it is known
  // here, another. Costs nothing and may be asked at any time: it goes with the signs of life.
  virtual bool stops(bool own) = 0;
  // Tells the others, once, why this process leaves. `message` is one line.
  virtual void leave(const std::string& message) noexcept = 0;
};

// One process by itself.
std::unique_ptr<Processes> make_single_process();

// [n] doubles of each process, one row a process.
std::vector<std::vector<double>> gather_numbers(Processes& processes, std::span<const double> own);
// Sums over the processes, in their order: the same bits everywhere.
std::vector<double> sum_numbers(Processes& processes, std::span<const double> own);
// The text of each process.
std::vector<std::string> gather_texts(Processes& processes, const std::string& own);
// The text of process 0.
std::string text_of_first(Processes& processes, const std::string& own);
// Waits until all have come here.
void meet(Processes& processes);

}  // namespace roformer
