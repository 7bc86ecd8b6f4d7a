// What several processes have found of the validation batches that they share out, put together as
// one process would have found it: batch n is computed by the process n % count.
#pragma once

#include <string>
#include <vector>

#include "distributed/processes.h"

namespace roformer {

// own[i] is of batch rank + i * count. Returns what there is of all batches, in the order of the
// batches, the same in every process.
std::vector<std::string> in_batch_order(Processes& processes, const std::vector<std::string>& own);
// The same of any number of doubles for each batch.
std::vector<std::vector<double>> in_batch_order(Processes& processes,
                                                const std::vector<std::vector<double>>& own);

}  // namespace roformer
