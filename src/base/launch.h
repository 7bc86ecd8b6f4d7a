// Reads how this process was started among the processes of a training: its rank, their number and
// their meeting point. The variables are those that torchrun, Open MPI's and MPICH's mpirun (PMI)
// and Slurm's srun set. Without such variables the process is alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace roformer {

// A record with more processes is damaged.
inline constexpr std::int64_t kMostProcesses = 65'536;

struct Launch {
  std::string launcher;   // "torchrun", "Open MPI", "MPICH", "Slurm"; empty: none
  std::int64_t rank = 0;  // among all processes
  std::int64_t processes = 1;
  std::int64_t local_rank = 0;  // among the processes on this machine
  std::int64_t local_processes = 1;
  std::string master_address;  // the meeting point; empty for a single process
  std::int64_t master_port = 0;
  bool launcher_keeps_store = false;  // the launcher itself serves the store at that address
  std::string attempt;                // number of this start, from launchers that restart

  bool alone() const { return processes == 1; }
};

// Returns the value of a variable, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Throws Error (usage) if variables contradict each other or some are missing.
Launch read_launch(const Environment& environment = process_environment());

// Clears these variables, so that programs started afterwards are separate trainings.
void forget_launch();

// "process 1 of 4 (torchrun), ... meeting at 127.0.0.1:29500".
std::string describe(const Launch& launch);

}  // namespace roformer
