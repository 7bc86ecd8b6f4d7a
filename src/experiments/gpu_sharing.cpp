#include "experiments/gpu_sharing.h"

#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/log.h"
#include "experiments/child_process.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// NVIDIA's documentation of MPS, sections "Environment Variables" and "nvidia-cuda-mps-control".
constexpr const char* kPipes = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* kLogs = "CUDA_MPS_LOG_DIRECTORY";
constexpr const char* kDefaultPipes = "/tmp/nvidia-mps";
constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kMpsPollInterval = std::chrono::milliseconds(20);

bool is_installed() {
  return std::system(("command -v " + std::string(kControl) + " > /dev/null 2>&1").c_str()) == 0;
}

bool user_runs_it() {
  std::error_code error;
  return std::getenv(kPipes) != nullptr || fs::exists(fs::path(kDefaultPipes) / "control", error);
}

void wait_until(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!is_so() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kMpsPollInterval);
  }
}

class MpsDaemon : public GpuSharing {
 public:
  explicit MpsDaemon(const fs::path& folder)
      : folder_(folder),
        // In the foreground it ends when this process dies.
        daemon_(ChildProcess::Command{.program = "/bin/sh",
                                      .arguments = {"-c", "exec " + std::string(kControl) + " -f"},
                                      .output = folder / "output.txt"}) {}

  ~MpsDaemon() override {
    if (!daemon_->poll()) {
      const std::string quit = "echo quit | " + std::string(kControl) + " > /dev/null 2>&1";
      [[maybe_unused]] const int code = std::system(quit.c_str());
      wait_until([this] { return daemon_->poll().has_value(); });
    }
    daemon_.reset();  // ends it if it did not obey
    ::unsetenv(kPipes);
    ::unsetenv(kLogs);
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  // Whether the daemon takes clients within kPatience.
  bool takes_clients() {
    std::error_code error;
    const fs::path control = folder_ / "control";
    wait_until([&] { return daemon_->poll() || fs::exists(control, error); });
    return !daemon_->poll() && fs::exists(control, error);
  }

 private:
  fs::path folder_;
  std::optional<ChildProcess> daemon_;
};

}  // namespace

std::unique_ptr<GpuSharing> GpuSharing::start() {
  if (user_runs_it() || !is_installed()) return nullptr;
  std::string folder = (fs::temp_directory_path() / "roformer-mps-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return nullptr;
  ::setenv(kPipes, folder.c_str(), /*overwrite=*/1);
  ::setenv(kLogs, folder.c_str(), /*overwrite=*/1);
  auto daemon = std::make_unique<MpsDaemon>(folder);
  if (!daemon->takes_clients()) {
    log::warn("{} did not start: the runs share the GPU by turns", kControl);
    return nullptr;
  }
  log::info("MPS is on: the runs compute on the GPU at the same time");
  return daemon;
}

}  // namespace roformer
