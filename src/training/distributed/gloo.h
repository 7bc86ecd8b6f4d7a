// Connects the processes that a launcher has started. They meet at a TCP store (the launcher's or
// process 0's) and talk through c10d's Gloo backend. A thread of each process writes a heartbeat to
// the store, so that a process that was killed, stopped or hangs is found and named.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/launch.h"
#include "training/distributed/processes.h"

namespace roformer {

struct ConnectOptions {
  // How long a process may be missing at the start, or silent later, before the others end.
  std::chrono::milliseconds timeout{60'000};
  // Names the training, so that another one at the same port is noticed; empty: unnamed.
  std::string job = {};
  // Where process 0 may leave a secret for the others (job_secret.h), unless ROFORMER_JOB_SECRET
  // gives them one; empty: nowhere.
  std::filesystem::path folder = {};
};

// Throws as rendezvous() does (rendezvous.h). A launch of one process needs no connection.
std::unique_ptr<Processes> connect(const Launch& launch, const ConnectOptions& options = {});

}  // namespace roformer
