// What is on the disk when a checkpoint appears. The calls that bring it there are caught here, in
// the place of the C library's.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "training/toy_task.h"
#include "training/trainer.h"

namespace {

namespace fs = std::filesystem;

bool watching = false;
std::map<std::string, std::uintmax_t> synced;  // bytes of each file when it was synced last
struct Appearance {
  std::uintmax_t metrics = 0;  // bytes of metrics.jsonl then
  std::uintmax_t synced = 0;   // of which on the disk
};
std::vector<Appearance> appearances;  // of checkpoints

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int fdatasync(int descriptor) {
  if (watching) {
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
    synced[path.filename().string()] = fs::file_size(path, error);
  }
  static auto* const real = next<int(int)>("fdatasync");
  return real(descriptor);
}

extern "C" int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  std::error_code error;
  const fs::path target =
      fs::read_symlink("/proc/self/fd/" + std::to_string(to_folder), error) / to;
  if (watching && target.filename().string().starts_with("step-") && target.extension().empty()) {
    const fs::path metrics = target.parent_path().parent_path() / "metrics.jsonl";
    appearances.push_back({.metrics = fs::file_size(metrics), .synced = synced["metrics.jsonl"]});
  }
  static auto* const real = next<int(int, const char*, int, const char*)>("renameat");
  return real(from_folder, from, to_folder, to);
}

namespace roformer {

TEST_CASE("the lines that a checkpoint counts are on the disk before it") {
  const TemporaryFolder folder;
  const TrainingSettings settings = toy_settings();
  ToyTask task;
  const RunDirectory run(folder.path / "run", ExistingRun::refuse);
  watching = true;
  train(task, {.settings = settings, .seed = 3, .run = run, .prefetch = {.threads = 0}});
  watching = false;
  CHECK(appearances.size() >= 9);
  for (const Appearance& appearance : appearances) {
    CHECK(appearance.metrics > 0);
    CHECK(appearance.synced == appearance.metrics);
  }
  CHECK(synced.size() > 1);  // the events, too
}

}  // namespace roformer
