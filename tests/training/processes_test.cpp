#include "training/distributed/processes.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "catch.h"
#include "has.h"
#include "temporary_folder.h"
#include "training/distributed/listening.h"
#include "training/on_ranks.h"

namespace roformer {
namespace {

using std::chrono::milliseconds;

}  // namespace

TEST_CASE("one process by itself goes through the same calls") {
  const auto alone = make_single_process();
  CHECK(alone->alone());
  at::Tensor values = at::arange(4, at::kFloat);
  alone->begin_sum(values)->wait();
  CHECK(at::equal(values, at::arange(4, at::kFloat)));
  const at::Tensor received = at::zeros({1, 4});
  alone->begin_exchange(received, values.view({1, 4}))->wait();
  CHECK(at::equal(received[0], values));
  CHECK(text_of_first(*alone, "text") == "text");
  CHECK(gather_texts(*alone, "") == std::vector<std::string>{""});
  const double two = 2;
  CHECK(sum_numbers(*alone, {&two, 1}) == std::vector<double>{2});
}

TEST_CASE("three processes add, exchange and gather") {
  const auto problems = on_ranks(3, milliseconds(20000), [](Processes& processes) {
    const std::int64_t rank = processes.rank();
    const auto wanted = [](bool good, const char* what) {
      if (!good) throw std::runtime_error(what);
    };
    wanted(processes.count() == 3 && processes.local_count() == 3, "count");
    const at::Tensor sum = at::full({5}, rank + 1.0);
    processes.begin_sum(sum)->wait();
    wanted(at::equal(sum, at::full({5}, 6.0)), "sum");
    // Row r says who sends it and to whom.
    const at::Tensor sent = at::arange(3, at::kFloat).view({3, 1}) + 10.0 * rank;
    const at::Tensor received = at::zeros({3, 1});
    processes.begin_exchange(received, sent)->wait();
    wanted(at::equal(received, at::arange(3, at::kFloat).view({3, 1}) * 10 + rank), "exchange");
    const at::Tensor all = at::zeros({3, 1});
    processes.begin_gather(all, at::full({1}, static_cast<double>(rank)))->wait();
    wanted(at::equal(all, at::arange(3, at::kFloat).view({3, 1})), "gather");
    const at::Tensor first = at::full({2}, rank + 7.0);
    processes.take_from_first(first);
    wanted(at::equal(first, at::full({2}, 7.0)), "first");
    wanted(text_of_first(processes, "of " + std::to_string(rank)) == "of 0", "text of first");
    const std::vector<std::string> texts{"", "x", "xx"};
    wanted(gather_texts(processes, std::string(static_cast<std::size_t>(rank), 'x')) == texts,
           "texts");
  });
  CHECK(problems == std::vector<std::string>(3));
}

TEST_CASE("a process that does not come is named") {
  try {
    connect(launch_of(0, 2, free_port()), {.timeout = milliseconds(500)});
    FAIL("connected to nobody");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains("1 of 2 processes did not connect within 0.5 s: 1"));
  }
}

TEST_CASE("processes that were told different numbers of each other say so at once") {
  const int port = free_port();
  const auto problem_of = [port](std::int64_t rank, std::int64_t count) -> std::string {
    try {
      connect(launch_of(rank, count, port), {.timeout = milliseconds(20000)});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  std::string first, second;
  std::thread other([&] { second = problem_of(1, 3); });
  first = problem_of(0, 2);
  other.join();
  CHECK_THAT(first, Catch::Contains("process 0 was started as one of 2 and process 1 as one of 3"));
  CHECK_THAT(second,
             Catch::Contains("process 1 was started as one of 3 and process 0 as one of 2"));
}

TEST_CASE("who leaves says why to all others") {
  const auto problems = on_ranks(3, milliseconds(20000), [](Processes& processes) {
    if (processes.rank() == 1) {
      processes.leave("the disk is full");
      return;
    }
    barrier(processes);
  });
  for (const std::size_t rank : {0, 2}) {
    CHECK_THAT(problems[rank], Catch::Contains("process 1 on "));
    CHECK_THAT(problems[rank], Catch::Contains("the disk is full"));
  }
}

TEST_CASE("a process that hangs ends the others within the timeout") {
  const auto start = std::chrono::steady_clock::now();
  const auto problems = on_ranks(2, milliseconds(1500), [&](Processes& processes) {
    if (processes.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(4000));  // without a sign of life
      return;
    }
    barrier(processes);
  });
  CHECK_THAT(problems[0], Catch::Contains("process 1 on "));
  CHECK_THAT(problems[0], Catch::Contains("has not responded for"));
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(8000));
}

TEST_CASE("long work that gives signs of life is waited for") {
  const auto problems = on_ranks(2, milliseconds(1000), [&](Processes& processes) {
    if (processes.rank() == 1) {
      for (int i = 0; i < 8; ++i) {
        std::this_thread::sleep_for(milliseconds(250));
        processes.alive();
      }
      const auto busy = processes.busy();
      std::this_thread::sleep_for(milliseconds(2000));
    }
    barrier(processes);
  });
  CHECK(problems == std::vector<std::string>(2));
}

TEST_CASE("one process that is asked to stop tells the others without their calling") {
  const auto problems = on_ranks(3, milliseconds(20000), [](Processes& processes) {
    if (processes.stops(false)) throw std::runtime_error("nobody was asked");
    barrier(processes);
    if (processes.rank() == 1 && !processes.stops(true)) throw std::runtime_error("itself");
    const auto end = std::chrono::steady_clock::now() + milliseconds(5000);
    while (!processes.stops(false)) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("was not told");
      std::this_thread::sleep_for(milliseconds(10));
    }
    barrier(processes);
  });
  CHECK(problems == std::vector<std::string>(3));
}

namespace {

// A client of the store without the job's secret.
class Stranger {
 public:
  explicit Stranger(std::int64_t port) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port);
    options.waitWorkers = false;
    options.timeout = milliseconds(5000);
    store_ = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }
  void set(const std::string& key, const std::string& text) {
    store_->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
  }
  bool sees(const std::string& end) {
    return std::ranges::any_of(store_->listKeys(),
                               [&](const std::string& key) { return key.ends_with(end); });
  }
  // What stands before the keys of the job's processes.
  std::string prefix() {
    for (const std::string& key : store_->listKeys()) {
      const std::size_t found = key.find("/pulse/");
      if (found != std::string::npos) return key.substr(0, found + 1);
    }
    return "";
  }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

// Calls work(processes) in a thread for each of two ranks; `between` before the second comes.
std::vector<std::string> problems_of(
    std::int64_t port, const ConnectOptions& options, const std::function<void(Processes&)>& work,
    const std::function<void()>& between = [] {}) {
  std::vector<std::string> problems(2);
  std::vector<std::thread> threads;
  for (const std::int64_t rank : {0, 1}) {
    if (rank == 1) between();
    threads.emplace_back([&, rank] {
      try {
        work(*connect(launch_of(rank, 2, port), options));
      } catch (const std::exception& error) {
        problems[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return problems;
}

void require_refusal(std::int64_t rank, std::int64_t port, const ConnectOptions& options,
                     const std::string& wanted) {
  try {
    connect(launch_of(rank, 2, port), options);
  } catch (const Error& error) {
    if (has(error.what(), wanted)) return;
    throw std::runtime_error(error.what());
  }
  throw std::runtime_error("two trainings met");
}

}  // namespace

TEST_CASE("a stranger at the store speaks for no process where they share a secret") {
  const TemporaryFolder folder;
  const std::filesystem::path runs = folder.path / "runs";
  const std::int64_t port = free_port();
  std::optional<Stranger> stranger;
  const auto problems = problems_of(
      port, {.timeout = milliseconds(4000), .folder = runs},
      [&](Processes& processes) {
        // The secret was read by all and is gone, with the folder that was made for it.
        if (std::filesystem::exists(runs)) throw std::runtime_error("a secret is left");
        barrier(processes);
        if (processes.rank() == 0) {
          const std::string prefix = stranger->prefix();
          if (prefix.empty()) throw std::runtime_error("no pulse is seen");
          stranger->set(prefix + "reason", "process 1: the GPU burns");
          stranger->set("roformer/0/reason", "process 1: the GPU burns");
          stranger->set(prefix + "pulse/1", "7 7 stop");
        }
        std::this_thread::sleep_for(milliseconds(1500));
        if (processes.stops(false)) throw std::runtime_error("stopped by a stranger");
        barrier(processes);
      },
      [&] { stranger.emplace(port); });
  CHECK(problems == std::vector<std::string>(2));
}

TEST_CASE("a training that has begun takes no connection of others") {
  const std::int64_t port = free_port();
  const auto problems =
      problems_of(port, {.timeout = milliseconds(20000)}, [&](Processes& processes) {
        barrier(processes);
        if (processes.rank() == 0) {
          const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
          sockaddr_in address{};
          address.sin_family = AF_INET;
          address.sin_port = htons(static_cast<std::uint16_t>(port));
          address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
          ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address);
          pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
          const int connected = ::poll(&ready, 1, 500);
          ::close(descriptor);
          if (connected != 0) throw std::runtime_error("a stranger was let in");
        }
        barrier(processes);
        const at::Tensor sum = at::ones({1 << 16});
        processes.begin_sum(sum)->wait();
        if (!at::equal(sum, at::full({1 << 16}, 2.0))) throw std::runtime_error("sum");
      });
  CHECK(problems == std::vector<std::string>(2));
}

TEST_CASE("another training at the same port is told so") {
  const std::int64_t port = free_port();
  const ConnectOptions other{.timeout = milliseconds(3000), .job = "run b"};
  std::string early;
  const auto problems = problems_of(
      port, {.timeout = milliseconds(20000), .job = "run a"},
      [&](Processes& processes) {
        if (processes.rank() == 0) {
          require_refusal(0, port, other, "already listens there");
          require_refusal(1, port, other, "cannot meet the others there");
        }
        barrier(processes);
      },
      [&] {
        try {
          require_refusal(1, port, other, "another run already meets there: \"run a\"");
        } catch (const std::exception& error) {
          early = error.what();
        }
      });
  CHECK(problems == std::vector<std::string>(2));
  CHECK(early.empty());
}

TEST_CASE("a process that comes twice is told so, and the others do not notice") {
  const std::int64_t port = free_port();
  const ConnectOptions options{.timeout = milliseconds(20000)};
  std::vector<std::string> problems(3);
  std::vector<std::thread> threads;
  const auto begin = [&](std::int64_t rank) {
    threads.emplace_back([&, rank] {
      try {
        barrier(*connect(launch_of(rank, 3, port), options));
      } catch (const std::exception& error) {
        problems[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  };
  begin(0);
  begin(1);
  {
    Stranger stranger(port);
    while (!stranger.sees("/claim/1")) std::this_thread::sleep_for(milliseconds(10));
  }
  CHECK_THROWS_WITH(connect(launch_of(1, 3, port), options),
                    Catch::Contains("a process 1 of 3 is already connected"));
  begin(2);
  for (std::thread& thread : threads) thread.join();
  CHECK(problems == std::vector<std::string>(3));
}

TEST_CASE("the store listens at MASTER_ADDR alone") {
  const std::int64_t port = free_port();
  const ListeningPlace place = listen_at("127.0.0.1", port, true);
  CHECK(place.address == "127.0.0.1");
  REQUIRE(place.descriptor >= 0);
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  REQUIRE(::getsockname(place.descriptor, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
  CHECK(bound.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  CHECK_THROWS_WITH(listen_at("127.0.0.1", port, true), Catch::Contains("already listens there"));
  ::close(place.descriptor);
  CHECK(listen_at("localhost", port, false).remark.empty());
  // Another machine's address (TEST-NET-1), and a name that others cannot reach.
  const ListeningPlace all = listen_at("192.0.2.1", port, true);
  CHECK(all.descriptor == -1);
  CHECK_THAT(all.remark, Catch::Contains("192.0.2.1"));
}

}  // namespace roformer
