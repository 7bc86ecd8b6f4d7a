#include "base/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <new>
#include <sstream>

#include "base/progress.h"

namespace roformer {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// The number in a line like "MemAvailable:   123 kB" or "active_file 4096" of a system file.
std::uint64_t named_number(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string name;
  std::uint64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream(line) >> name >> number;
    if (name == wanted) return number;
  }
  return kUnknown;
}

// The amount in bytes; the line gives it in kB.
std::uint64_t named_amount(const char* path, const std::string& wanted) {
  const std::uint64_t kibibytes = named_number(path, wanted);
  return kibibytes == kUnknown ? kUnknown : kibibytes * 1024;
}

// The files of a container's control group; the two versions name them differently.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* statistics;
  const char* prefix;  // of the names in the statistics
};

std::uint64_t left_in_group(const GroupFiles& files) {
  std::uint64_t limit = 0, used = 0;
  if (!(std::ifstream(files.limit) >> limit) || !(std::ifstream(files.used) >> used)) {
    return kUnknown;
  }
  // The page cache counts as used, but the system frees it when a process needs memory.
  for (const char* kind : {"inactive_file", "active_file"}) {
    const std::uint64_t cached = named_number(files.statistics, std::string(files.prefix) + kind);
    if (cached != kUnknown) used -= std::min(used, cached);
  }
  return limit > used ? limit - used : 0;
}

bool is_lack_of_memory(const std::string& text) {
  return text.find("not enough memory") != std::string::npos ||
         text.find("out of memory") != std::string::npos ||
         text.find("alloc_cpu") != std::string::npos;
}

// Returns " for another 37.3 GiB" for "you tried to allocate 40000000000 bytes. Error code 12" or,
// on a GPU, for "Tried to allocate 2.00 GiB. GPU 0 has".
std::string bytes_asked_for(const std::string& text) {
  constexpr std::string_view kBefore = "ried to allocate ";
  const std::size_t begin = text.find(kBefore);
  if (begin == std::string::npos) return "";
  std::istringstream rest(text.substr(begin + kBefore.size()));
  double amount = 0;
  std::string unit;
  if (!(rest >> amount >> unit)) return "";
  unit = unit.substr(0, unit.find_first_of(".,"));
  if (unit == "bytes") return " for another " + format_bytes(static_cast<std::uint64_t>(amount));
  return fmt::format(" for another {} {}", amount, unit);
}

}  // namespace

std::uint64_t available_memory() {
  constexpr GroupFiles kVersion2{.limit = "/sys/fs/cgroup/memory.max",
                                 .used = "/sys/fs/cgroup/memory.current",
                                 .statistics = "/sys/fs/cgroup/memory.stat",
                                 .prefix = ""};
  constexpr GroupFiles kVersion1{.limit = "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                 .used = "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                 .statistics = "/sys/fs/cgroup/memory/memory.stat",
                                 .prefix = "total_"};
  const std::uint64_t left = std::min({named_amount("/proc/meminfo", "MemAvailable:"),
                                       left_in_group(kVersion2), left_in_group(kVersion1)});
  return left == kUnknown ? 0 : left;
}

std::uint64_t total_memory() {
  const std::uint64_t total = named_amount("/proc/meminfo", "MemTotal:");
  if (total == kUnknown) return 0;
  std::uint64_t limit = 0;
  const bool limited = static_cast<bool>(std::ifstream("/sys/fs/cgroup/memory.max") >> limit);
  return limited && limit > 0 ? std::min(total, limit) : total;
}

std::uint64_t peak_memory() {
  const std::uint64_t bytes = named_amount("/proc/self/status", "VmHWM:");
  if (bytes != kUnknown) return bytes;
  rusage usage{};  // includes the program before exec
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) << 10
                                               : 0;
}

std::optional<std::string> lack_of_memory(const std::exception& error) {
  constexpr const char* kMessage = "not enough memory";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kMessage;
  const std::string text = error.what();
  if (!is_lack_of_memory(text)) return std::nullopt;
  return kMessage + bytes_asked_for(text);
}

}  // namespace roformer
