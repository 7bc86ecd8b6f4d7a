// How the processes of one training find each other: at a TCP store, the launcher's or process 0's.
// They tell each other who they are, and agree on the secret that seals all they say afterwards.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <exception>
#include <string>
#include <vector>

#include "base/launch.h"
#include "training/distributed/gloo.h"

namespace roformer {

struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;  // sealed, where the processes share a secret
  std::vector<std::string> hosts;         // of each process
  std::string listens_at;                 // process 0: its address, where that is known
};

// Returns when all have come. Throws Error: failure naming those that did not within the timeout,
// or saying that it is another training that meets there; usage where the processes were started
// differently.
Meeting meet_others(const Launch& launch, const ConnectOptions& options);

// LibTorch's errors go on with where in its source they come from.
std::string first_line(const std::exception& error);

}  // namespace roformer
