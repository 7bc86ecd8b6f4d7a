#include "training/run_directory.h"

#include <ATen/Parallel.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <thread>
#include <utility>

#include "base/error.h"
#include "tensor/device.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// What a run writes at the top of its folder; all else in it is the user's and is left alone.
constexpr std::array kContents = {"config.yaml", "run.json",    "log.txt",      "metrics.jsonl",
                                  "tensorboard", "checkpoints", "summary.json", "report.html"};

bool holds_foreign_files(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    const fs::path name = entry.path().filename();
    if (name != ".lock" && std::find(kContents.begin(), kContents.end(), name) == kContents.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_run(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "config.yaml", error);
}

RunDirectory::RunDirectory(fs::path path, ExistingRun existing) : path_(std::move(path)) {
  const std::string place = path_.string();
  if (existing == ExistingRun::resume && !is_run(path_)) {
    throw_usage(place, "holds no run that could be resumed", "leave out --resume to start one");
  }
  if (existing == ExistingRun::refuse && is_run(path_)) {
    throw_usage(place, "holds a run already",
                "--resume to continue it, --overwrite to replace it, --run NAME for another");
  }
  make_directories(path_);
  // A message of its own, since the lock of a folder that was always there needs no write.
  if (::access(path_.c_str(), W_OK) != 0) {
    throw_failure(place, "cannot write there: " + system_message(errno));
  }
  if (!is_run(path_) && holds_foreign_files(path_)) {
    throw_usage(place, "is neither empty nor a run", "choose another name with --run");
  }
  lock_.emplace(path_);
  if (existing == ExistingRun::overwrite) {
    for (const char* name : kContents) {
      std::error_code error;
      fs::remove_all(path_ / name, error);
      if (error) throw_failure((path_ / name).string(), "cannot remove: " + error.message());
    }
  }
  resumed_ = existing == ExistingRun::resume;
  remove_partial_checkpoints(checkpoints());
  log_.emplace(path_ / "log.txt");
}

nlohmann::json run_record(const RunOrigin& origin) {
  struct utsname system {};
  ::uname(&system);
  const std::time_t now = std::time(nullptr);
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {{"format", "roformer run"},
          {"format_version", 1},
          {"version", origin.version},
          {"commit", origin.commit},
          {"command", origin.command},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"libtorch", TORCH_VERSION},
          {"machine",
           {{"host", system.nodename},
            {"system", std::string(system.sysname) + " " + system.release},
            {"processor", processor_name()},
            {"cores", std::thread::hardware_concurrency()},
            {"threads", at::get_num_threads()},
            {"memory_bytes", memory}}},
          {"data", origin.data}};
}

}  // namespace roformer
