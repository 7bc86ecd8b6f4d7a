// Several processes as threads of a test, over the loopback.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "training/distributed/processes.h"

namespace roformer {

inline std::int64_t free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

inline Launch launch_of(std::int64_t rank, std::int64_t count, std::int64_t port) {
  return {.launcher = "torchrun",
          .rank = rank,
          .processes = count,
          .local_rank = rank,
          .local_processes = count,
          .master_address = "127.0.0.1",
          .master_port = port,
          .attempt = "0"};
}

// Calls work(processes) in a thread for each rank; what they throw comes back as text.
inline std::vector<std::string> on_ranks(std::int64_t count, std::chrono::milliseconds timeout,
                                         const std::function<void(Processes&)>& work) {
  const std::int64_t port = free_port();
  std::vector<std::string> problems(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto processes = connect(launch_of(rank, count, port), {.timeout = timeout});
        work(*processes);
      } catch (const std::exception& error) {
        problems[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return problems;
}

}  // namespace roformer
