// Connects the processes that a launcher has started: they meet at a TCP store (the launcher's, or
// process 0's) and talk through c10d's Gloo backend. A thread of each process says once in a while
// in the store that it lives, so that one that was killed, stopped or hangs is found and named.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/launch.h"
#include "training/distributed/processes.h"

namespace roformer {

struct ConnectOptions {
  // So long may a process be missing at the start, or silent later, before the others end.
  std::chrono::milliseconds timeout{60'000};
  // What is trained, so that another training at the same port is noticed; empty: not told.
  std::string job = {};
  // Where process 0 may leave a secret for the others (job_secret.h), if ROFORMER_JOB_SECRET does
  // not give them one; empty: nowhere.
  std::filesystem::path folder = {};
};

// As meet_others() throws (meeting.h). A launch of one process needs no connection.
std::unique_ptr<Processes> connect(const Launch& launch, const ConnectOptions& options = {});

}  // namespace roformer
