// MPS for the runs of a study, with a script in place of NVIDIA's program.
#include "experiments/gpu_sharing.h"

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// A folder first on PATH with a program that does as `script` says, and its log.
struct FakeMps {
  TemporaryFolder folder;
  std::string path = value_of("PATH");

  explicit FakeMps(const std::string& script) {
    const fs::path program = folder.path / "nvidia-cuda-mps-control";
    write_file_atomically(program,
                          "#!/bin/sh\nlog=" + (folder.path / "log").string() + "\n" + script);
    fs::permissions(program, fs::perms::owner_all);
    ::setenv("PATH", (folder.path.string() + ":" + path).c_str(), 1);
  }
  ~FakeMps() { ::setenv("PATH", path.c_str(), 1); }
  std::string log() const { return read_file(folder.path / "log"); }
};

constexpr const char* kPipes = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* kGood = R"(
if [ "$1" = -f ]; then
  echo "started" >> $log
  touch "$CUDA_MPS_PIPE_DIRECTORY/control"
  while [ -e "$CUDA_MPS_PIPE_DIRECTORY/control" ]; do sleep 0.02; done
  echo "ended" >> $log
else
  read word; echo "told $word" >> $log
  rm "$CUDA_MPS_PIPE_DIRECTORY/control"
fi
)";

}  // namespace

TEST_CASE("MPS runs as long as a study shares a GPU, and leaves nothing") {
  const FakeMps mps(kGood);
  std::string pipes;
  {
    const auto sharing = GpuSharing::start();
    REQUIRE(sharing);
    pipes = value_of(kPipes);
    CHECK(fs::exists(fs::path(pipes) / "control"));
    CHECK(value_of("CUDA_MPS_LOG_DIRECTORY") == pipes);
    CHECK_FALSE(GpuSharing::start());  // it runs already
  }
  CHECK(has(mps.log(), "started\ntold quit\nended\n"));
  CHECK(value_of(kPipes) == "");
  CHECK_FALSE(fs::exists(pipes));
}

TEST_CASE("a study goes on without MPS if it does not start") {
  const FakeMps mps("echo tried >> $log; exit 1\n");
  const std::string told = said([] { CHECK_FALSE(GpuSharing::start()); });
  CHECK(has(told, "did not start: the runs share the GPU by turns"));
  CHECK(has(mps.log(), "tried"));
  CHECK(value_of(kPipes) == "");
}

TEST_CASE("the user's MPS stays as it is") {
  const FakeMps mps(kGood);
  ::setenv(kPipes, "/somewhere", 1);
  CHECK_FALSE(GpuSharing::start());
  CHECK(value_of(kPipes) == "/somewhere");
  ::unsetenv(kPipes);
  CHECK_FALSE(fs::exists(mps.folder.path / "log"));
}
