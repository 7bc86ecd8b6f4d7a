#include "base/launch.h"

#include <map>

#include "base/error.h"
#include "catch.h"

namespace roformer {
namespace {

using Variables = std::map<std::string, std::string>;

Launch launch_in(const Variables& variables) {
  return read_launch([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

const Variables kTorchrun = {{"RANK", "5"},           {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29501"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "1411645441"}};
const Variables kMpich = {
    {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}};
const Variables kSlurm = {{"SLURM_PROCID", "4"},
                          {"SLURM_STEP_NUM_TASKS", "5"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                          {"SLURM_STEP_NODELIST", "gpu[03-04,07]-ib,login"},
                          {"SLURM_JOB_ID", "77"},
                          {"SLURM_STEP_ID", "0"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace

TEST_CASE("a process without a launcher is alone") {
  const Launch launch = launch_in({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"PATH", "/bin"}});
  CHECK(launch.launcher.empty());
  CHECK(launch.alone());
  CHECK(launch_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).alone());
}

TEST_CASE("the variables of each launcher say which process this is") {
  const Launch torchrun = launch_in(kTorchrun);
  CHECK(torchrun.launcher == "torchrun");
  CHECK(torchrun.rank == 5);
  CHECK(torchrun.processes == 8);
  CHECK(torchrun.local_rank == 1);
  CHECK(torchrun.local_processes == 4);
  CHECK(torchrun.master_address == "head");
  CHECK(torchrun.master_port == 29501);
  CHECK_FALSE(torchrun.launcher_keeps_store);

  const Launch elastic = launch_in(with(
      kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}));
  CHECK(elastic.launcher_keeps_store);
  CHECK(elastic.attempt == "2");

  const Launch open_mpi = launch_in(kOpenMpi);
  CHECK(open_mpi.launcher == "Open MPI");
  CHECK(open_mpi.rank == 1);
  CHECK(open_mpi.master_address == "127.0.0.1");
  CHECK(open_mpi.master_port >= 15000);
  CHECK(open_mpi.master_port < 25000);
  CHECK(launch_in(with(kOpenMpi, {{"PMIX_NAMESPACE", "other"}})).master_port !=
        open_mpi.master_port);

  const Launch mpich = launch_in(kMpich);
  CHECK(mpich.launcher == "MPICH");
  CHECK(mpich.rank == 3);
  CHECK(mpich.processes == 4);
  CHECK(mpich.master_port == 29500);

  const Launch slurm = launch_in(kSlurm);
  CHECK(slurm.launcher == "Slurm");
  CHECK(slurm.rank == 4);
  CHECK(slurm.local_processes == 1);
  CHECK(slurm.master_address == "gpu03-ib");
  CHECK(launch_in(with(kSlurm, {{"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "1"}})).local_processes ==
        2);
  CHECK(launch_in(with(kSlurm, {{"SLURM_STEP_NODELIST", "a1,b[2-3]"}})).master_address == "a1");
}

TEST_CASE("the launcher nearest to the process counts") {
  CHECK(launch_in(with(kSlurm, kOpenMpi)).launcher == "Open MPI");
  CHECK(launch_in(with(kSlurm, kMpich)).launcher == "MPICH");
  // torchrun, one task of srun a machine.
  CHECK(launch_in(with(with(kSlurm, kTorchrun), {{"TORCHELASTIC_RUN_ID", "none"}})).rank == 5);
}

TEST_CASE("partial and contradictory variables are refused in words") {
  const auto refused = [](const Variables& variables, const std::string& words) {
    CHECK_THROWS_WITH(launch_in(variables), Catch::Contains(words));
  };
  refused(without(kTorchrun, "WORLD_SIZE"), "WORLD_SIZE: is not set, but RANK is");
  refused(without(kTorchrun, "RANK"), "RANK: is not set, but WORLD_SIZE is");
  refused(without(kTorchrun, "MASTER_ADDR"), "MASTER_ADDR: is not set");
  refused(without(kTorchrun, "MASTER_PORT"), "MASTER_PORT: is not set");
  refused(with(kTorchrun, {{"RANK", "8"}}), "8, but WORLD_SIZE says that there are 8 processes");
  refused(with(kTorchrun, {{"RANK", "one"}}), "RANK: is \"one\", not an integer");
  refused(with(kTorchrun, {{"MASTER_PORT", "70000"}}), "MASTER_PORT: is \"70000\"");
  refused(with(kTorchrun, kOpenMpi), "say process 5 of 8, but Open MPI says process 1 of 2");
  refused(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"), "the variables of Open MPI are incomplete");
  refused(
      with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
      "mpirun -x MASTER_ADDR=HOST");
  refused(without(kSlurm, "SLURM_PROCID"), "SLURM_PROCID: is not set");
}

TEST_CASE("what a launch comes to is said in words") {
  CHECK(describe(Launch{}).find("one process") == 0);
  CHECK(describe(launch_in(kTorchrun)) ==
        "process 5 of 8 (torchrun), 1 of 4 on this machine, meeting at head:29501");
}

}  // namespace roformer
