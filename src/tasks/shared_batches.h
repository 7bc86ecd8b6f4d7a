// The processes share the validation batches: process n % count computes batch n. These functions
// gather the results so that every process has the results that a single process would compute.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "training/distributed/processes.h"
#include "training/signals.h"

namespace roformer {

// Called after each batch, or each group of sentences, of this process.
using WorkProgress = std::function<void(std::int64_t done, std::int64_t of)>;

// own[i] belongs to batch rank + i * count. Returns the results of all batches in their order, the
// same in every process.
std::vector<std::string> in_batch_order(Processes& processes, const std::vector<std::string>& own);
// The same for any number of doubles of each batch.
std::vector<std::vector<double>> in_batch_order(Processes& processes,
                                                const std::vector<std::vector<double>>& own);

// Calls work(n) for each batch of this process. Before each call it tells the other processes that
// this one is alive, and throws ValidationStopped if the process was asked to stop.
template <class Work>
void for_own_batches(Processes& processes, std::int64_t batches, Work work,
                     const WorkProgress& progress = {}) {
  for (std::int64_t n = processes.rank(); n < batches; n += processes.count()) {
    processes.alive();
    stop_validation_if_asked(processes);
    work(n);
    if (progress) progress(n + 1, batches);
  }
}

// Returns of_batch(n) of all batches in their order; Figures is a struct of doubles.
template <class Figures, class OfBatch>
std::vector<Figures> of_all_batches(Processes& processes, std::int64_t batches, OfBatch of_batch,
                                    const WorkProgress& progress = {}) {
  static_assert(std::is_trivially_copyable_v<Figures> && sizeof(Figures) % sizeof(double) == 0);
  std::vector<std::vector<double>> own;
  for_own_batches(
      processes, batches,
      [&](std::int64_t n) {
        const Figures figures = of_batch(n);
        std::memcpy(own.emplace_back(sizeof(Figures) / sizeof(double)).data(), &figures,
                    sizeof(Figures));
      },
      progress);
  std::vector<Figures> all;
  for (const std::vector<double>& values : in_batch_order(processes, own)) {
    std::memcpy(static_cast<void*>(&all.emplace_back()), values.data(), sizeof(Figures));
  }
  return all;
}

}  // namespace roformer
