#include "base/cores.h"

#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

namespace roformer {
namespace {

struct System {
  const TemporaryFolder folder;

  void file(const std::string& name, const std::string& text) const {
    make_directories((folder.path / name).parent_path());
    write_file_atomically(folder.path / name, text);
  }
  double cores() const { return usable_cores(folder.path); }
};

}  // namespace

TEST_CASE("a container's quota bounds the cores, in either version of control groups") {
  const System system;
  const double all = system.cores();
  CHECK(all >= 1);
  CHECK(usable_threads(system.folder.path) == static_cast<std::int64_t>(all));
  SECTION("version 2") {
    system.file("sys/fs/cgroup/cpu.max", "50000 100000\n");
    CHECK(system.cores() == 0.5);
    CHECK(usable_threads(system.folder.path) == 1);
    system.file("sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK(system.cores() == all);
  }
  SECTION("version 2, of a group inside others") {
    system.file("proc/self/cgroup", "0::/user.slice/a:b\n");
    system.file("sys/fs/cgroup/user.slice/cpu.max", "75000 100000\n");
    system.file("sys/fs/cgroup/user.slice/a:b/cpu.max", "max 100000\n");
    CHECK(system.cores() == 0.75);
  }
  SECTION("version 1") {
    system.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000\n");
    system.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(system.cores() == 0.25);
    system.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    CHECK(system.cores() == all);
    system.file("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/box\n");
    system.file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "10000\n");
    system.file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "20000\n");
    CHECK(system.cores() == 0.5);
  }
  SECTION("a file that says nothing is no quota") {
    system.file("sys/fs/cgroup/cpu.max", "");
    system.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "0\n");
    CHECK(system.cores() == all);
  }
}

}  // namespace roformer
