// How the processes of one training find each other: at a TCP store, the launcher's or process 0's.
// They tell each other who they are, and agree on the secret that signs all later messages.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <exception>
#include <string>
#include <vector>

#include "base/launch.h"
#include "training/distributed/processes.h"

namespace roformer {

struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;  // signed, if the processes share a secret
  std::vector<std::string> hosts;         // of each process
  std::string listens_at;                 // process 0: its address, if that is known
};

// Returns when all processes have come. Throws Error: failure naming those that did not come within
// the timeout, or saying that another training meets there; usage if the processes were started
// differently.
Rendezvous rendezvous(const Launch& launch, const ConnectOptions& options);

// The first line of LibTorch's errors says what happened.
std::string first_line(const std::exception& error);

}  // namespace roformer
