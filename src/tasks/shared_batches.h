// What several processes have found of the validation batches that they share out, put together as
// one process would have found it: batch n is computed by the process n % count.
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

// Told after each batch, or group of sentences, of this process how much of the work is done.
using WorkProgress = std::function<void(std::int64_t done, std::int64_t of)>;

// own[i] is of batch rank + i * count. Returns what there is of all batches, in the order of the
// batches, the same in every process.
std::vector<std::string> in_batch_order(Processes& processes, const std::vector<std::string>& own);
// The same of any number of doubles for each batch.
std::vector<std::vector<double>> in_batch_order(Processes& processes,
                                                const std::vector<std::vector<double>>& own);

// work(n) for each batch of this process. Between two of them it stops where the process was asked
// to (throws ValidationStopped), and tells the others that it is alive.
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

// What of_batch(n) says of all batches, in their order; Figures is a struct of doubles.
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
