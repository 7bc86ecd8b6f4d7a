#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

double share(double time, double period) {
  return time > 0 && period > 0 ? time / period : kNoQuota;
}

// Reads "200000 100000" or "max 100000".
double quota_of_version_2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double time = 0, period = 0;
  return file >> time >> period ? share(time, period) : kNoQuota;
}

// Returns -1 for no quota.
double quota_of_version_1(const fs::path& group) {
  double time = 0, period = 0;
  std::ifstream(group / "cpu.cfs_quota_us") >> time;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return share(time, period);
}

// The control group and all groups that contain it, each of which may have a quota. Reads
// "4:cpu,cpuacct:/a/b" or "0::/a/b" in /proc/self/cgroup. Inside a container, its own group is the
// top, whatever the name says.
std::vector<fs::path> groups_of(const fs::path& root, bool version_2) {
  std::vector<fs::path> groups{""};
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::istringstream parts(line);
    std::string number, controllers, path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    const bool of_processor = ("," + controllers + ",").find(",cpu,") != std::string::npos;
    if (version_2 ? !controllers.empty() : !of_processor) continue;
    fs::path group;
    for (const fs::path& name : fs::path(path).relative_path()) groups.push_back(group /= name);
  }
  return groups;
}

double quota(const fs::path& root) {
  const fs::path top = root / "sys/fs/cgroup";
  double least = kNoQuota;
  for (const fs::path& group : groups_of(root, /*version_2=*/true)) {
    least = std::min(least, quota_of_version_2(top / group));
  }
  for (const fs::path& group : groups_of(root, /*version_2=*/false)) {
    for (const char* const mounted : {"cpu", "cpu,cpuacct"}) {
      least = std::min(least, quota_of_version_1(top / mounted / group));
    }
  }
  return least;
}

}  // namespace

double usable_cores(const fs::path& root) {
  double cores = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
  return std::min(cores, quota(root));
}

std::int64_t usable_threads(const fs::path& root) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(usable_cores(root)));
}

void on_threads(std::size_t count, std::int64_t threads,
                const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr problem;
  std::mutex problem_mutex;
  const auto take_items = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(problem_mutex);
        problem = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted =
        std::min(static_cast<std::size_t>(std::max<std::int64_t>(threads, 1)), count);
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(take_items);
    take_items();
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace roformer
